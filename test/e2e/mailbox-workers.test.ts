import { expect } from 'chai';
import type { Client } from 'pg';
import type { FeedChange } from '../../commands/feed/feed-events.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import { openEventStore } from '../../infra/event-store/event-store-client.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { readRunFile } from '../../infra/process/run-file.ts';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually } from '../support/worlds/gateway.ts';
import type { GatewayProcess } from '../support/worlds/gateway-process.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { wholeLog } from '../support/samples/whole-log.ts';

const mail = (id: string): string =>
  `From: Ann <ann@example.com>\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n\r\nHello\r\n`;

const LEASE_SECONDS = 3;
/** With the first one a dozen mailboxes. */
const OTHERS = Array.from({ length: 11 }, (_, at) => `shared${String(at)}`);

interface Holder {
  readonly runId: string;
  readonly fence: number;
}

describe('two worker processes', function () {
  this.timeout(180_000);
  let dovecot: TestDovecot;
  let set: ReplicaSet;
  let database: Client;
  let events: EventStore & { close(): Promise<void> };
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    const lease = { LEASE_SECONDS: String(LEASE_SECONDS) };
    set = await ReplicaSet.start(lease, () => [
      { ROLES: 'api,projector' },
      { ...lease, ROLES: 'mail' },
      { ...lease, ROLES: 'mail' },
    ]);
    const facts = readRunFile(set.dataDir);
    if (facts === null) throw new Error('the process with the stores wrote no run file');
    database = await openDirectConnection(facts.database_direct_url, 'gateway tests');
    events = openEventStore({ url: facts.eventstore_url, log: silentLog });
    mailboxId = await set.addMailbox(dovecot.imap());
  });

  after(async () => {
    await events.close();
    await database.end();
    await set.remove();
    await dovecot.dispose();
  });

  const holder = async (): Promise<Holder | null> => {
    const { rows } = await database.query<{ run_id: string; fence: string }>(
      'select run_id, fence from work.mailbox_lease where mailbox_id = $1 and until > now()',
      [mailboxId],
    );
    const [row] = rows;
    return row ? { runId: row.run_id, fence: Number(row.fence) } : null;
  };
  const holders = async (): Promise<readonly { readonly run_id: string; readonly mailboxes: number }[]> => {
    const { rows } = await database.query<{ run_id: string; mailboxes: number }>(
      'select run_id, count(*)::int as mailboxes from work.mailbox_lease where until > now() group by run_id',
    );
    return rows;
  };
  const told = async (): Promise<readonly FeedChange[]> =>
    (await wholeLog(events)).flatMap(({ type, data }) =>
      type === 'MailboxChangesObserved' ? (data['changes'] as FeedChange[]) : [],
    );
  const arrive = (id: string): Promise<unknown> =>
    appendMessages(dovecot.imap(), 'anna', [{ raw: mail(id) }]);
  const isTold = (count: number, withinMs: number): Promise<unknown> =>
    eventually(async () => {
      const { length } = await told();
      if (length < count) throw new Error(`${String(length)} of ${String(count)} changes are told`);
    }, withinMs);
  /** Freezes the process that holds the mailbox, which is known by that the lease goes to the other one. */
  const freezeHolder = async (): Promise<{ readonly frozen: GatewayProcess; readonly next: Holder }> => {
    const before = await holder();
    for (const replica of set.replicas.slice(1)) {
      replica.freeze();
      const next = await eventually(async () => {
        const now = await holder();
        if (now === null || now.runId === before?.runId) throw new Error('the lease stays');
        return now;
      }, 5_000).catch(() => null);
      if (next) return { frozen: replica, next };
      replica.wake();
    }
    throw new Error('no process holds the mailbox');
  };

  it('share a mailbox by a lease, and do nothing when they wake up after it', async () => {
    const first = await eventually(async () => {
      const now = await holder();
      if (now === null) throw new Error('nobody holds it');
      return now;
    });
    await arrive('one');
    await isTold(1, 5_000);
    const { frozen, next } = await freezeHolder();
    expect(next.fence).to.be.above(first.fence);
    await arrive('two');
    await isTold(2, 10_000);
    frozen.wake();
    await arrive('three');
    await isTold(3, 5_000);
    await arrive('four');
    await isTold(4, 5_000);
    const changes = await told();
    expect(changes.map(({ kind }) => kind)).to.deep.equal(['received', 'received', 'received', 'received']);
    expect(new Set(changes.map(({ locator }) => locator)).size, 'each once').to.equal(4);
    expect((await holder())?.fence).to.be.at.least(next.fence);
    const { body } = await set.rest(0, [
      'POST',
      `/mailboxes/${mailboxId}/email.query`,
      { select: { folder: 'inbox' } },
    ]);
    expect(body.items).to.have.length(4);
  });

  it('share many mailboxes evenly, and take over all of a killed process', async () => {
    const host = { host: dovecot.host, port: dovecot.ports.imap, security: 'none' };
    for (const username of OTHERS) {
      const auth = { type: 'password', username, password: PASSWORD };
      const body = { email: `${username}@example.com`, imap: host, smtp: host, auth };
      await set.rest(0, ['POST', '/mailboxes', body]);
    }
    const shares = await eventually(async () => {
      const held = await holders();
      if (held.length !== 2 || held.some(({ mailboxes }) => mailboxes !== 6))
        throw new Error(`not evenly shared: ${JSON.stringify(held)}`);
      return held;
    });
    // What arrives before the first look belongs to the first pass, and is not told.
    await eventually(async () => {
      const { body } = await set.rest(0, ['GET', '/mailboxes']);
      const states = (body.items as { state: string }[]).map(({ state }) => state);
      if (states.some((state) => state !== 'connected')) throw new Error(`still ${states.join()}`);
    });
    await set.replicas[1]?.kill();
    const killedAt = performance.now();
    const [last] = await eventually(async () => {
      const held = await holders();
      if (held.length !== 1 || held[0]?.mailboxes !== 12)
        throw new Error(`not taken over: ${JSON.stringify(held)}`);
      return held;
    });
    expect(shares.map(({ run_id }) => run_id)).to.include(last?.run_id);
    // The lease of the killed one, and the next look for mailboxes nobody holds.
    expect(performance.now() - killedAt).to.be.below(LEASE_SECONDS * 1_000 + 10_000);
    const before = (await told()).length;
    for (const username of OTHERS) await appendMessages(dovecot.imap(), username, [{ raw: mail(username) }]);
    await isTold(before + OTHERS.length, 10_000);
  });
});
