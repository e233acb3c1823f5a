import { expect } from 'chai';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { createToken, deleteToken } from '../../../../commands/organisation/manage-tokens.ts';
import { deleteGrant } from '../../../../commands/mailboxes/manage-grants.ts';
import { decodeWaitCursor, encodeWaitCursor } from '../../../../commands/feed/wait-cursor.ts';
import { awaitEmail } from '../../../../read-api/waiting/await-email.ts';
import { monitorInbox } from '../../../../read-api/waiting/monitor-inbox.ts';
import { type Change, FeedWorld, INBOX, messageAt, TRASH } from '../../../support/worlds/feed-world.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const DAY_MS = 86_400_000;

describe('monitor_inbox and email_await', () => {
  let world: FeedWorld;
  let ports: Ports;
  const subjects = (reply: { items: readonly { subject?: string | null | undefined }[] }) =>
    reply.items.map(({ subject }) => subject);
  /** Returns at once what follows a cursor. */
  const look = (input: object, capability: Capability = monitorInbox) =>
    world.wait(ports, capability, { timeout_seconds: 0, ...input });
  const now = async (): Promise<string> => (await look({})).cursor;
  const arrive = async (...uids: readonly number[]) => {
    for (const uid of uids) world.messages.set(uid, messageAt(uid));
    await world.observe(uids.map((uid) => ({ uid })));
    await world.caughtUp(ports);
  };

  beforeEach(async () => {
    world = await FeedWorld.start();
    ports = await world.process();
  });
  afterEach(() => world.stop());

  it(`answers with messages that arrive during the wait, and no sooner ${verifies('contract:5:await-reply', 'contract:5:from-now')}`, async () => {
    await arrive(1);
    const real = await world.process({ ticking: true });
    const waiting = world.wait(real, monitorInbox, {});
    await new Promise((resolve) => setTimeout(resolve, 50));
    await arrive(2);
    const reply = await waiting;
    expect(reply.status).to.equal('matched');
    expect(subjects(reply)).to.deep.equal(['Message 2']);
    expect(reply.items[0]).to.include({ mailbox_id: world.mailboxId, seen: false, has_attachments: false });
    expect(await look({ cursor: reply.cursor })).to.include({ status: 'timed_out' });
  });

  it(`times out with a normal answer, after 30 seconds by default ${verifies('contract:5:timeout')}`, async () => {
    for (const [timeout_seconds, took] of [
      [undefined, 30_000],
      [50, 50_000],
      [0, 0],
    ] as const) {
      const before = ports.clock.now().getTime();
      const reply = await world.wait(ports, monitorInbox, { timeout_seconds });
      expect(reply).to.deep.include({ status: 'timed_out', items: [] });
      expect(ports.clock.now().getTime() - before).to.equal(took);
    }
    for (const timeout_seconds of [51, -1]) {
      expect(await rejection(look({ timeout_seconds }))).to.include({ code: 'invalid_request' });
    }
  });

  it(`continues after a cursor, with whole items and none twice ${verifies('contract:5:no-gap-no-repeat')}`, async () => {
    const cursor = await now();
    await arrive(...Array.from({ length: 70 }, (_, index) => index + 1));
    const first = await look({ cursor });
    const second = await look({ cursor: first.cursor });
    expect([...subjects(first), ...subjects(second)]).to.deep.equal(
      Array.from({ length: 70 }, (_, index) => `Message ${String(index + 1)}`),
    );
    expect(first.items).to.have.length(50);
    expect(await look({ cursor: second.cursor })).to.include({ status: 'timed_out' });
  });

  it('keeps an answer within the size of an MCP result, whatever the messages are', async () => {
    const cursor = await now();
    const uids = [1, 2, 3, 4, 5];
    await arrive(...uids);
    for (const uid of uids) {
      world.messages.set(uid, messageAt(uid, { subject: `${String(uid)}${'x'.repeat(40_000)}` }));
    }
    const seen: string[] = [];
    let at = cursor;
    for (let answers = 0; answers < 5 && seen.length < 5; answers += 1) {
      const reply = await look({ cursor: at });
      expect(JSON.stringify(reply).length).to.be.at.most(ports.server.limits.mcpResultBytes);
      seen.push(...subjects(reply).map((subject) => subject?.[0] ?? ''));
      at = reply.cursor;
    }
    expect(seen).to.deep.equal(['1', '2', '3', '4', '5']);
  });

  it(`defaults to the inbox, and email_await to all folders except trash and junk ${verifies('contract:4:folder-absent-wait')}`, async () => {
    const cursor = await now();
    await world.observe([{ uid: 5 }], TRASH);
    world.messages.set(5, messageAt(5));
    await arrive(1);
    expect(subjects(await look({ cursor }))).to.deep.equal(['Message 1']);
    const message = { for: 'message', cursor };
    expect(subjects(await look(message, awaitEmail))).to.deep.equal(['Message 1']);
    const inTrash = { ...message, select: { folder: 'trash' } };
    expect(subjects(await look(inTrash, awaitEmail))).to.deep.equal(['Message 5']);
    expect(subjects(await look({ ...message, select: { folder: 'all' } }, awaitEmail))).to.have.length(2);
    expect(await rejection(look({ folder: 'nowhere' }))).to.include({ code: 'not_found' });
  });

  it(`returns a message once when a flag change makes it match ${verifies('contract:5:begins-to-match')}`, async () => {
    await arrive(1, 2);
    const cursor = await now();
    world.messages.set(1, messageAt(1, { flagged: true }));
    await world.observe([
      { uid: 1, kind: 'updated', flags: ['\\Flagged'], flags_before: [] },
      { uid: 2, kind: 'updated', flags: ['\\Seen'], flags_before: [] },
    ]);
    await world.observe([
      { uid: 1, kind: 'updated', flags: ['\\Flagged', '\\Seen'], flags_before: ['\\Flagged'] },
    ]);
    await world.caughtUp(ports);
    const flagged = await look({ cursor, filter: { flagged: true } });
    expect(subjects(flagged)).to.deep.equal(['Message 1']);
    expect(await look({ cursor: flagged.cursor, filter: { flagged: true } })).to.include({
      status: 'timed_out',
    });
    expect(await look({ cursor })).to.include({ status: 'timed_out' });
    expect(await look({ cursor, filter: { any: [{ subject_contains: 'message' }] } })).to.include({
      status: 'timed_out',
    });
  });

  it(`returns a message in several folders once ${verifies('contract:11:gmail-received-once', 'contract:5:no-gap-no-repeat')}`, async () => {
    const cursor = await now();
    for (const uid of [1, 5]) world.messages.set(uid, messageAt(uid, { flagged: true }));
    await world.observe([{ uid: 1, also_in: [] }]);
    await world.observe([{ uid: 5, kind: 'updated', also_in: [INBOX.number] }], TRASH);
    await world.caughtUp(ports);
    const first = await look({ cursor, folder: 'all' });
    expect(subjects(first)).to.deep.equal(['Message 1']);
    expect(subjects(await look({ cursor, folder: 'trash' })), 'it is new there').to.deep.equal(['Message 5']);
    const change = { kind: 'updated', flags: ['\\Flagged'], flags_before: [] } satisfies Partial<Change>;
    await world.observe([{ ...change, uid: 5, also_in: [INBOX.number] }], TRASH);
    await world.observe([{ ...change, uid: 1, also_in: [TRASH.number] }]);
    await world.caughtUp(ports);
    const flagged = { cursor: first.cursor, filter: { flagged: true } };
    expect(subjects(await look({ ...flagged, folder: 'all' }))).to.deep.equal(['Message 1']);
    expect(subjects(await look({ ...flagged, folder: 'trash' }))).to.deep.equal(['Message 5']);
  });

  it('ignores arrivals caused by operations, and messages that are missing or marked as deleted', async () => {
    const cursor = await now();
    world.messages.set(1, messageAt(1)).set(2, messageAt(2)).set(4, messageAt(4));
    await world.observe([
      { uid: 1, operation_id: 'opn_1' },
      { uid: 2, kind: 'moved', operation_id: 'opn_2', previous: 'msg_x' },
      { uid: 3 },
      { uid: 4, flags: ['\\Deleted'] },
      { uid: 5, kind: 'deleted' },
    ]);
    await world.caughtUp(ports);
    expect(await look({ cursor })).to.include({ status: 'timed_out' });
    await world.observe([{ uid: 4, kind: 'updated', flags: [], flags_before: ['\\Deleted'] }]);
    await world.caughtUp(ports);
    expect(subjects(await look({ cursor }))).to.deep.equal(['Message 4']);
  });

  it('queries the mail server once for many callers', async () => {
    const real = await world.process({ ticking: true });
    const waiting = Array.from({ length: 200 }, () => world.wait(real, monitorInbox, {}));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await arrive(1);
    for (const reply of await Promise.all(waiting)) expect(subjects(reply)).to.deep.equal(['Message 1']);
    expect(world.fetches).to.deep.equal([1]);
  });

  it(`refuses conditions that only the mail server could evaluate ${verifies('contract:4:wait-not-weakened')}`, async () => {
    for (const filter of [{ body_contains: 'x' }, { not: { header: { name: 'X', contains: 'y' } } }]) {
      expect(await rejection(look({ filter }))).to.include({ code: 'filter_unsupported' });
    }
  });

  it(`refuses a cursor of another log, a damaged and an old one ${verifies('contract:13:cursor-expired')}`, async () => {
    const { position } = decodeWaitCursor(ports.server.logId, await now());
    const at = (ahead: bigint, daysAgo: number) =>
      encodeWaitCursor(ports.server.logId, {
        position: position + ahead,
        index: null,
        issuedAt: new Date(ports.clock.now().getTime() - daysAgo * DAY_MS),
      });
    expect(await rejection(look({ cursor: at(1n, 0) }))).to.include({ code: 'cursor_invalid' });
    expect(await rejection(look({ cursor: 'wc1_eHg' }))).to.include({ code: 'cursor_invalid' });
    expect(await rejection(look({ cursor: at(0n, 8) }))).to.include({ code: 'cursor_expired' });
    expect(await look({ cursor: at(0n, 6) })).to.include({ status: 'timed_out' });
  });

  it('returns its cursor when the mail server was unavailable, so that nothing is lost', async () => {
    const real = await world.process({ ticking: true });
    const mail = {
      ...real.mail,
      withMailbox: () => Promise.reject(new GatewayError('mailbox_unavailable', 'away')),
    };
    const waiting = rejection(world.wait({ ...real, mail }, monitorInbox, {}));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await arrive(1);
    const error = await waiting;
    if (!(error instanceof GatewayError)) throw error;
    expect(error).to.include({ code: 'mailbox_unavailable', retryAfterSeconds: 2 });
    expect(subjects(await look({ cursor: error.details['cursor'] }))).to.deep.equal(['Message 1']);
  });

  it('returns its cursor when the directory was outdated, before and after a match', async () => {
    for (const unknownFrom of ['waiting', 'found'] as const) {
      const real = await world.process({ ticking: true });
      const known = { isCurrent: true };
      const directory = {
        version: 1,
        state: real.directory.state,
        get isCurrent() {
          return known.isCurrent;
        },
        untilCurrent: () => Promise.resolve(known.isCurrent),
        waitFor: () => Promise.resolve(),
        waitForAll: () => Promise.resolve(),
      };
      const mail: Ports['mail'] = {
        ...real.mail,
        withMailbox: async (...asked) => {
          const answer = await real.mail.withMailbox(...asked);
          known.isCurrent = false;
          return answer;
        },
      };
      const waiting = rejection(world.wait({ ...real, directory, mail }, monitorInbox, {}));
      await new Promise((resolve) => setTimeout(resolve, 50));
      known.isCurrent = unknownFrom === 'found';
      const uid = unknownFrom === 'found' ? 2 : 1;
      await arrive(uid);
      const error = await waiting;
      if (!(error instanceof GatewayError)) throw error;
      expect(error).to.include({ code: 'store_unavailable', retryAfterSeconds: 2 });
      expect(subjects(await look({ cursor: error.details['cursor'] })), unknownFrom).to.deep.equal([
        `Message ${String(uid)}`,
      ]);
    }
  });

  it('fails with store_unavailable when the store is unavailable', async () => {
    world.gateway.events.away = true;
    expect(await rejection(look({}))).to.include({ code: 'store_unavailable' });
  });

  it('refuses a mailbox that no worker watches', async () => {
    const mailbox = ports.directory.state.mailboxes.get(world.mailboxId);
    Object.assign(mailbox ?? {}, { state: 'auth_failed' });
    expect(await rejection(look({}))).to.include({ code: 'mailbox_auth_failed' });
    Object.assign(mailbox ?? {}, { state: 'paused' });
    expect(await rejection(look({}))).to.include({ code: 'conflict' });
  });

  it(`ends with the token, the grant or the client ${verifies('contract:2:wait-ends-with-rights')}`, async () => {
    const real = await world.process({ ticking: true });
    const other = await world.gateway.call<{ id: string }>(createToken, {
      name: 'Other',
      surface: 'rest',
      scopes: ['messages:read'],
      expires_at: '2026-03-02T00:00:00Z',
    });
    const gone = new AbortController();
    const left = world.wait(real, monitorInbox, {}, { gone: gone.signal });
    gone.abort();
    expect(await left).to.include({ status: 'timed_out' });
    const withoutToken = rejection(world.wait(real, monitorInbox, {}, { tokenId: other.id }));
    const withoutGrant = rejection(world.wait(real, monitorInbox, {}));
    await world.gateway.call(deleteToken, { token_id: other.id });
    expect(await withoutToken).to.include({ code: 'token_revoked' });
    const [grantId] = ports.directory.state.grantIds.get(world.mailboxId)?.values() ?? [];
    await world.gateway.call(deleteGrant, { mailbox_id: world.mailboxId, grant_id: grantId });
    expect(await withoutGrant).to.include({ code: 'not_found' });
  });

  it('answers at once when the process ends', async () => {
    const real = await world.process({ ticking: true });
    const waiting = world.wait(real, monitorInbox, {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    await world.stop();
    const reply = await waiting;
    expect(reply).to.include({ status: 'timed_out' });
    expect(decodeWaitCursor(real.server.logId, reply.cursor).position).to.be.a('bigint');
  });
});
