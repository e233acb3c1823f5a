import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Answer, eventually, type Json } from '../support/worlds/gateway.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';
import { type SignedInPerson, signInOwner } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const FORM = { actions: ['send'] };
const rule = (id: string, when: object, decision: object | string) => ({
  id,
  when,
  then: typeof decision === 'string' ? { decision } : decision,
});
const PEOPLE = rule('people', { ...FORM, actors: ['delegated'] }, 'allow');

describe("the organisation's policy over REST", function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let world: SendingWorld;
  let owner: SignedInPerson;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    relay = await MailRelay.start(dovecot);
    world = await SendingWorld.open(dovecot, relay.port);
    owner = await signInOwner(world.gateway);
  });
  after(async () => {
    await world.stop();
    await relay.stop();
    await dovecot.dispose();
  });

  const put = (rules: readonly object[], ifMatch?: string): Promise<Answer> =>
    owner.rest('PUT', '/org/policy', { rules }, { headers: ifMatch ? { 'if-match': ifMatch } : {} });
  const read = async (path: string): Promise<Json> => {
    const { status, body } = await world.gateway.rest('GET', path);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  };
  const simulate = async (operation: object, asked: object = {}): Promise<Json> => {
    const input = { mailbox_id: world.mailboxId, operation, ...asked };
    const { status, body } = await owner.rest('POST', '/org/policy/simulate', input);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  };
  const version = async (): Promise<number> => Number((await read('/org/policy')).version);

  it(`returns a version and accepts the next one when it names that version ${verifies('contract:17:policy', 'contract:3:policy-manage')}`, async () => {
    const before = await world.gateway.rest('GET', '/org/policy');
    expect([before.status, before.headers.get('etag')]).to.deep.equal([200, '"1"']);
    expect(before.body.built_in_rules).to.have.length(3);
    const byToken = await world.gateway.rest('PUT', '/org/policy', { rules: [] });
    expect([byToken.status, byToken.body.error.code]).to.deep.equal([403, 'insufficient_scope']);
    const stale = await put([], '"0"');
    expect([stale.status, stale.body.error.code]).to.deep.equal([412, 'version_conflict']);
    const set = await put([PEOPLE, rule('bulk', { bulk_count: { min: 100 } }, 'deny')], '"1"');
    expect([set.status, set.headers.get('etag')], JSON.stringify(set.body)).to.deep.equal([200, '"2"']);
    expect(set.body).to.include({ version: 2, set_by: owner.userId });
    expect(await read('/org/policy')).to.deep.equal(set.body);
    expect((await read(`/org/policy?as_of=${String(before.body.set_at)}`)).rules).to.have.length(1);
  });

  it(`reports who changed it, and the issues of a bad document ${verifies('contract:17:policy-versions', 'contract:8:names-issue')}`, async () => {
    await put([PEOPLE, rule('later', FORM, { decision: 'allow', undo_seconds: 30 })]);
    const [newest] = (await read('/org/policy/versions')).items;
    expect(newest).to.include({ version: await version(), set_by: owner.userId, rule_count: 2 });
    expect(newest.changes.added).to.deep.equal(['later']);
    const refused = await put([PEOPLE, rule('later', FORM, { decision: 'require', quorum: 0 })]);
    expect(refused.status).to.equal(400);
    const [issue] = refused.body.error.details.issues;
    expect(issue.path).to.equal('rules.1.then.quorum');
    expect(issue.message).to.include('Rule later');
  });

  it(`simulates a written draft and hypothetical mail ${verifies('contract:17:policy-simulate')}`, async () => {
    await put([PEOPLE]);
    const { id } = await world.draft(['bob@example.com', 'eve@outside.example']);
    const operation = { type: 'draft_send', draft_id: id };
    const asked = { principal_id: world.gateway.tokens.agentId };
    expect(await simulate(operation, asked)).to.include({
      decision: 'require',
      rule_id: 'default.irreversible',
      actor: 'agent',
      recipient_count: 2,
    });
    const policy = {
      internal_domains: ['example.com'],
      rules: [
        rule('outside', { external_recipient: true }, { decision: 'require', quorum: 2 }),
        rule('inside', FORM, 'allow'),
      ],
    };
    const tried = await simulate(operation, { ...asked, policy });
    expect(tried).to.include({ decision: 'require', rule_id: 'outside', version: (await version()) + 1 });
    expect(
      (tried.cases as Json[]).map(({ recipient, rule_id }) => [recipient.domain, rule_id]),
    ).to.deep.equal([
      ['example.com', 'inside'],
      ['outside.example', 'outside'],
    ]);
    const unwritten = { type: 'send', recipients: ['anna@example.com'] };
    expect(await simulate(unwritten, { policy })).to.include({ decision: 'allow', actor: 'person' });
    expect(await world.statusOf(id)).to.equal('open');
    const { body } = await world.gateway.rest('POST', '/org/policy/simulate', {
      mailbox_id: world.mailboxId,
      operation,
    });
    expect(body.error.code).to.equal('insufficient_scope');
  });

  it(`records a denial with the rule and its version ${verifies('contract:11:policy-denied')}`, async () => {
    await put([rule('no-mail', FORM, 'deny')]);
    const { id } = await world.draft();
    const refused = await world.send(id, randomUUID());
    expect([refused.status, refused.body.error.code]).to.deep.equal([403, 'policy_denied']);
    const line = await eventually(async () => {
      const [found] = (await read('/audit?type=PolicyDenied&outcome=denied')).items as Json[];
      if (!found) throw new Error('nothing recorded yet');
      return found;
    });
    expect(line.policy).to.deep.equal({ decision: 'deny', rule_id: 'no-mail', version: await version() });
    expect(line.actor.id).to.equal(world.gateway.tokens.userId);
  });

  it(`names the header fields that are sent, and refuses others and bad recipients by path ${verifies('contract:7:custom-headers', 'contract:7:relay-orders')}`, async () => {
    const allow = [PEOPLE];
    const set = await owner.rest('PUT', '/org/policy', { rules: allow, custom_headers: ['X-Ticket'] });
    expect(set.body.custom_headers).to.deep.equal(['x-ticket']);
    const start = (fields: object): Promise<Answer> =>
      world.gateway.rest('POST', `/mailboxes/${world.mailboxId}/start_draft`, fields, {
        headers: { 'idempotency-key': randomUUID() },
      });
    const { body: written } = await start({ to: ['bob@example.com'], headers: { 'X-Ticket': 'T-2' } });
    expect(written.headers).to.deep.equal({ 'X-Ticket': 'T-2' });
    for (const [path, fields] of [
      ['headers.X-Other', { headers: { 'X-Ticket': 'T-3', 'X-Other': 'a' } }],
      ['headers.X-SMTPAPI', { headers: { 'X-SMTPAPI': '{}' } }],
      ['to.0', { to: ['eve%evil.test@example.com'] }],
      ['cc.1.email', { cc: ['bob@example.com', { email: 'evil.test!eve@example.com' }] }],
      ['bcc.0', { bcc: ['"eve@evil.test"@example.com'] }],
    ] as const) {
      for (const refused of [
        await start(fields),
        await world.gateway.rest('POST', `/drafts/${String(written.id)}/patch_draft`, fields),
      ]) {
        expect(refused.status, path).to.equal(400);
        const { code, details } = refused.body.error;
        expect([code, details.issues[0].path], path).to.deep.equal(['invalid_request', path]);
      }
    }
    await put(allow);
    const refused = await world.send(String(written.id), randomUUID());
    expect([refused.status, refused.body.error.code]).to.deep.equal([403, 'policy_denied']);
    expect(refused.body.error.details).to.have.nested.property('policy.rule_id', 'custom_headers');
  });

  it(`limits the mails an agent sends per hour ${verifies('contract:3:grant-quotas')}`, async () => {
    await put([rule('all', FORM, 'allow')]);
    const { tokens } = world.gateway;
    const grants = `/mailboxes/${world.mailboxId}/grants`;
    const before = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const own = (await read(grants)).items.find(({ principal }: Json) => principal.id === tokens.agentId);
    const changed = await world.gateway.rest('PATCH', `${grants}/${String(own.id)}`, {
      quotas: { sends_per_hour: 1 },
    });
    expect(changed.body.quotas).to.deep.equal({ sends_per_hour: 1 });
    const misspelt = await world.gateway.rest('PATCH', `${grants}/${String(own.id)}`, {
      quotas: { sends_per_day: 1 },
    });
    expect(misspelt.body.error.code).to.equal('invalid_request');
    const then = (await read(`${grants}?as_of=${before}`)).items as Json[];
    expect(then.find(({ id }) => id === own.id).quotas).to.equal(null);

    const token = (
      await world.gateway.rest('POST', '/tokens', {
        name: 'sends',
        principal_id: tokens.agentId,
        surface: 'rest',
        scopes: ['drafts:send', 'drafts:read'],
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      })
    ).body.token as string;
    // Three, for an hour may end between two of them.
    const sent: Answer[] = [];
    for (let n = 0; n < 3; n += 1) sent.push(await world.send((await world.draft()).id, randomUUID(), token));
    expect(sent[0]?.status).to.equal(200);
    const refused = sent.find(({ status }) => status === 429);
    expect(refused?.body.error).to.deep.include({
      code: 'quota_exceeded',
      details: { quota: 'sends_per_hour', limit: 1 },
    });
    const identity = await world.gateway.rest('GET', '/identity', undefined, { token });
    expect(identity.body.mailboxes[0].limits).to.deep.equal({ sends_per_hour: 1 });
  });

  it(`returns earlier versions, and refuses a time in the future ${verifies('contract:17:as-of')}`, async () => {
    for (const path of ['/org/policy', `/mailboxes/${world.mailboxId}/grants`]) {
      const early = await world.gateway.rest('GET', `${path}?as_of=2020-01-01T00:00:00Z`);
      expect([path, early.status]).to.deep.equal([path, 404]);
      const late = await world.gateway.rest('GET', `${path}?as_of=2999-01-01T00:00:00Z`);
      expect([path, late.status]).to.deep.equal([path, 400]);
    }
  });
});
