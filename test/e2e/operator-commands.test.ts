/** Commands of the operator beside a running gateway, and what callers see of them: the release of a hold, and keys of a trail. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../infra/platform/reserved-port.ts';
import { askedFor, wentOn } from '../support/samples/sample-approvals.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { type CommandResult, runCommand } from '../support/servers/run-command.ts';
import { verifies } from '../support/suite/verifies.ts';
import { eventually, type Json, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { type SignedInPerson, signInNew, signInOwner } from '../support/worlds/sign-in.ts';

describe('the operator of a running gateway', function () {
  this.timeout(120_000);
  let folder: string;
  let database: TestDatabase;
  let settings: Readonly<Record<string, string>>;
  let gateway: TestGateway;
  let owner: SignedInPerson;
  let auditor: SignedInPerson;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-operator-'));
    database = await testDatabase();
    settings = {
      DATA_DIR: join(folder, 'data'),
      DATABASE_URL: database.url,
      PORT: String(await freePort()),
      EGRESS_ALLOW_MAIL: '127.0.0.1/32:*',
    };
    gateway = await startTestGateway({ env: settings, database });
    owner = await signInOwner(gateway);
    auditor = await signInNew(gateway, 'auditor');
  });
  after(async () => {
    await gateway.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const admin = (...args: readonly string[]): Promise<CommandResult> =>
    runCommand('infra/admin/admin.ts', args, {
      ...settings,
      EVENTSTORE_URL: gateway.gateway.eventStoreUrl,
    });
  const place = async (targets: readonly object[]): Promise<string> => {
    const terms = { name: 'Example v. Sample', reason: 'They wrote to us.', targets };
    const { status, body } = await owner.rest('POST', '/legal-holds', terms);
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.id as string;
  };
  const release = (id: string): Promise<CommandResult> =>
    admin('hold', 'release', id, '--reason', 'No second person; agreed by letter.');
  const sealed = async (): Promise<number> => {
    expect((await owner.rest('POST', '/agents', { name: 'Bot' })).status).to.equal(201);
    return (await auditor.rest('POST', '/audit/checkpoints', {})).status;
  };

  it(`releases a hold as the second person, where there is none ${verifies('contract:12:hold-operator')}`, async () => {
    const id = await place([{ type: 'person', id: owner.userId }]);
    const early = await release(id);
    expect(early.code).to.equal(1);
    expect(early.stderr).to.contain('has to ask for the release first');
    const asked = await owner.rest('POST', `/legal-holds/${id}/release`, { reason: 'Settled.' });
    expect(asked.body).to.include({ state: 'release_requested', awaits: 'operator' });
    const { code, stdout, stderr } = await release(id);
    expect([code, stderr]).to.deep.equal([0, '']);
    expect(stdout).to.equal(`${id} is released; you were the second after ${owner.userId}.\n`);
    const { body } = await owner.rest('GET', `/legal-holds/${id}`);
    expect(body).to.include({ state: 'released', awaits: null });
    expect((await release(id)).stdout).to.equal(`${id} was released before.\n`);
    expect((await admin('hold', 'list')).stdout).to.match(new RegExp(`^${id} .* released `));
  });

  it(`finds the account of an approver kept by a hold on the mailbox ${verifies('contract:12:hold-blocks')}`, async () => {
    const host = { host: '127.0.0.1', port: 9, security: 'none' };
    const { status, body: mailbox } = await owner.rest('POST', '/mailboxes', {
      email: 'shared@example.com',
      imap: host,
      smtp: host,
      auth: { type: 'password', username: 'shared', password: 'a password' },
    });
    expect(status, JSON.stringify(mailbox)).to.equal(201);
    const approver = await signInNew(gateway, 'approver');
    const name = '0'.repeat(26);
    const { events } = gateway.gateway.ports;
    const { agentId, orgId } = gateway.tokens;
    await askedFor(events, name, { requester: agentId, orgId, mailboxId: mailbox.id as string });
    await wentOn(events, name, 'ApprovalVoteCast', { actorId: approver.userId });
    const id = await place([{ type: 'mailbox', id: mailbox.id as string }]);
    const refused = await approver.rest('DELETE', '/users/me');
    expect([refused.status, refused.body.error?.code]).to.deep.equal([409, 'legal_hold']);
    await eventually(async () => {
      const { body } = await owner.rest('GET', `/audit?type=RequestRefused&actor=${approver.userId}`);
      expect(body.items.map(({ data }: Json) => data.code)).to.deep.equal(['legal_hold']);
    });
    const erasure = await admin('person', 'erase', approver.email);
    expect([erasure.code, erasure.stderr.includes(id)]).to.deep.equal([1, true]);
    await owner.rest('POST', `/legal-holds/${id}/release`, { reason: 'Settled.' });
    expect((await release(id)).code).to.equal(0);
    expect((await admin('person', 'erase', approver.email)).stdout).to.contain('is erased');
  });

  it(`rotates and revokes keys, which callers see ${verifies('contract:12:key-rotation', 'contract:12:key-revocation')}`, async () => {
    const { orgId } = gateway.tokens;
    const keys = async (): Promise<readonly Json[]> => (await auditor.rest('GET', '/audit/keys')).body.items;
    expect(await sealed()).to.equal(201);
    const [first] = await keys();
    expect(first).to.include({ status: 'active', from_size: 0 });
    const rotated = await admin('audit', 'rotate-key', '--trail', orgId);
    expect([rotated.code, rotated.stderr]).to.deep.equal([0, '']);
    const second = rotated.stdout.trim().split('\n').at(-1);
    const both = await keys();
    expect(both.map(({ vkey, status }) => [vkey, status])).to.deep.equal([
      [second, 'active'],
      [first.vkey, 'retired'],
    ]);
    expect(both[1].to_size).to.equal(both[0].from_size);
    const since = '2026-01-01T00:00:00.000Z';
    const named = ['--trail', orgId, '--key', second ?? '', '--since', since, '--reason', 'A stolen disk.'];
    const revoked = await admin('audit', 'revoke-key', ...named);
    expect([revoked.code, revoked.stderr]).to.deep.equal([0, '']);
    expect(await admin('audit', 'revoke-key', ...named), 'the same command').to.deep.equal(revoked);
    const third = revoked.stdout.trim().split('\n').at(-1);
    const all = await keys();
    expect(all.map(({ vkey, status }) => [vkey, status])).to.deep.equal([
      [third, 'active'],
      [second, 'revoked'],
      [first.vkey, 'retired'],
    ]);
    expect(all[1]).to.include({ since });
    expect(await sealed()).to.equal(201);
  });

  it(`begins a new epoch where the key of a trail is missing, which callers see ${verifies('contract:12:seal-broken', 'contract:17:audit-verifications')}`, async () => {
    const { orgId } = gateway.tokens;
    expect(await sealed()).to.equal(201);
    await gateway.gateway.ports.sql.query(
      `update vault.audit_key set retired_at = now() - interval '40 days' where trail = $1 and revoked_at is null`,
      [orgId],
    );
    expect(await sealed()).to.equal(503);
    const shown = async (): Promise<Json> => (await auditor.rest('GET', '/audit/verifications')).body;
    expect(await shown()).to.include({ stopped: 'key_missing' });
    await eventually(async () => {
      const { body } = await auditor.rest('GET', '/audit?type=AuditSealBroken');
      expect(body.items.map(({ data }: Json) => data.reason)).to.deep.equal(['key_missing']);
    });
    const begun = await admin('audit', 'new-epoch', '--reason', 'We looked into it.');
    expect([begun.code, begun.stderr]).to.deep.equal([0, '']);
    expect(await sealed()).to.equal(201);
    expect(await shown()).to.deep.include({ stopped: null });
  });
});
