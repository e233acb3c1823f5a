import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { runCommand } from '../support/servers/run-command.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages, plainMessage, withClient } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';
import { callRest, eventually } from '../support/worlds/gateway.ts';
import { GatewayProcess } from '../support/worlds/gateway-process.ts';
import { callOf, helloOf } from '../support/worlds/mcp/raw-mcp.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';
import { PERSON_PASSWORD, type SignedInPerson, signInWith } from '../support/worlds/sign-in.ts';

const REVISION = '2025-06-18';
const RACERS = 12;

describe('a legal hold on two replicas', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let set: ReplicaSet;
  let owner: SignedInPerson;
  let admin: SignedInPerson;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    set = await ReplicaSet.start({}, () => [{}, {}]);
    const add = ['person', 'add', 'admin@example.com', '--role', 'admin'];
    owner = await signedIn('owner@example.com', ['person', 'reset', 'owner@example.com']);
    admin = await signedIn('admin@example.com', add);
    mailboxId = await set.addMailbox(dovecot.imap());
  });

  after(async () => {
    await set.remove();
    await dovecot.dispose();
  });

  /** With the link that the command prints. */
  async function signedIn(email: string, args: readonly string[]): Promise<SignedInPerson> {
    const { stdout } = await runCommand('infra/admin/admin.ts', [...args], set.settings());
    const [, token] = /#reset=(\S+)/.exec(stdout) ?? [];
    await set.rest(0, ['POST', '/auth/password/reset', { token, password: PERSON_PASSWORD }]);
    return await signInWith(set.replicas[0]?.address ?? '', email);
  }

  const as = (
    replica: number,
    { bearer }: SignedInPerson,
    ...call: readonly [method: string, path: string, body?: unknown]
  ) => set.rest(replica, call, { token: bearer });

  const place = async (): Promise<string> => {
    const targets = [{ type: 'mailbox', id: mailboxId }];
    const input = { name: 'Example v. Sample', reason: 'A letter.', targets };
    const placed = await as(0, owner, 'POST', '/legal-holds', input);
    expect(placed.status, JSON.stringify(placed.body)).to.equal(201);
    return String(placed.body.id);
  };
  const release = async (id: string): Promise<void> => {
    for (const [replica, person, state] of [
      [1, owner, 'release_requested'],
      [0, admin, 'released'],
    ] as const) {
      const answer = await as(replica, person, 'POST', `/legal-holds/${id}/release`, { reason: 'Settled.' });
      expect(answer.body).to.include({ state });
    }
  };

  /** Subjects in the inbox, as the mail server has them. */
  const inInbox = (): Promise<number> =>
    withClient(dovecot.imap(), 'anna', async (client) => {
      const status = await client.status('INBOX', { messages: true });
      if (status === false || status.messages === undefined) throw new Error('the inbox has no status');
      return status.messages;
    });
  const arrive = async (name: string, count: number): Promise<readonly string[]> => {
    const raws = Array.from({ length: count }, (_, n) => ({
      raw: plainMessage({ subject: `${name} ${String(n)}` }),
    }));
    await appendMessages(dovecot.imap(), 'anna', raws);
    return await eventually(async () => {
      const select = { folder: 'inbox', filter: { subject_contains: name } };
      const { body } = await set.rest(0, ['POST', `/mailboxes/${mailboxId}/email.query`, { select }]);
      const ids = (body.items as { id: string }[]).map(({ id }) => id);
      if (ids.length < count) throw new Error('not all of it has arrived');
      return ids;
    }, 15_000);
  };
  const trash = (replica: number, id: string) =>
    set.rest(replica, ['POST', `/mailboxes/${mailboxId}/trash`, { message_ids: [id] }]);

  it(`refuses at once on both, over REST and MCP, each with a line ${verifies('contract:12:hold-blocks')}`, async () => {
    const [message = ''] = await arrive('Held', 1);
    const before = await inInbox();
    const hold = await place();
    for (const replica of [1, 0]) {
      const refused = await trash(replica, message);
      expect([refused.status, refused.body.error.code]).to.deep.equal([409, 'legal_hold']);
      expect(refused.body.error.details).to.deep.equal({ holds: [] });
    }
    const hello = await set.mcp(1, { body: helloOf(REVISION) });
    const headers = {
      'mcp-session-id': hello.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': REVISION,
    };
    for (const type of ['expunge', 'trash']) {
      const operation = { type: 'message_actions', select: { message_ids: [message] }, actions: [{ type }] };
      const args = { mailbox_id: mailboxId, operation, idempotency_key: `held-${type}` };
      const { text } = await set.mcp(1, { body: callOf('email_act', args), headers });
      expect(text).to.include('legal_hold').and.to.include('"isError":true');
    }
    expect(await inInbox()).to.equal(before);
    await eventually(async () => {
      const { body } = await as(0, owner, 'GET', `/audit?type=RequestRefused&mailbox_id=${mailboxId}`);
      const held = (body.items as { data: { code: string } }[]).filter(
        ({ data }) => data.code === 'legal_hold',
      );
      if (held.length < 4) throw new Error(`only ${String(held.length)} lines`);
    });
    const twice = await as(1, owner, 'POST', `/legal-holds/${hold}/release`, { reason: 'x' });
    expect(twice.body).to.include({ state: 'release_requested', awaits: 'second_person' });
    const again = await as(0, owner, 'POST', `/legal-holds/${hold}/release`, { reason: 'x' });
    expect([again.status, again.body.error.code]).to.deep.equal([403, 'self_approval_forbidden']);
    const released = await as(0, admin, 'POST', `/legal-holds/${hold}/release`, { reason: 'x' });
    expect(released.body).to.include({ state: 'released' });
    await eventually(async () => {
      const { status, body } = await trash(1, message);
      if (status !== 200) throw new Error(JSON.stringify(body));
    });
    expect(await inInbox()).to.equal(before - 1);
  });

  it(`lets nothing leave after its answer, whatever ran when it came ${verifies('contract:12:hold-blocks')}`, async () => {
    const messages = await arrive('Raced', RACERS);
    const racing = messages.map(async (id, n) => {
      await delay(n * 120);
      return await trash(n % 2, id);
    });
    await delay(150);
    const hold = await place();
    const atAnswer = await inInbox();
    const answers = await Promise.all(racing);
    await delay(500);
    expect(await inInbox()).to.equal(atAnswer);
    const codes = answers.map(({ status, body }) =>
      status === 200 ? (body.results[0].error?.code ?? 'done') : body.error.code,
    );
    expect(new Set(codes)).to.have.keys('done', 'legal_hold');
    await release(hold);
  });

  it('counts in a process that starts later', async () => {
    const [message = ''] = await arrive('Later', 1);
    const hold = await place();
    const later = await GatewayProcess.start({ env: set.settings() });
    try {
      const call = ['POST', `/mailboxes/${mailboxId}/trash`, { message_ids: [message] }] as const;
      const { status, body } = await callRest(later.address, call, { token: set.tokens.rest_token });
      expect([status, body.error.code]).to.deep.equal([409, 'legal_hold']);
    } finally {
      await later.kill();
    }
    await release(hold);
  });
});
