import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { StoredEvent } from '../../commands/values/event.ts';
import { openEventStore } from '../../infra/event-store/event-store-client.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { readRunFile } from '../../infra/process/run-file.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Answer, eventually } from '../support/worlds/gateway.ts';
import { brokenInvariants, type ToldAnswer, type ToldResult } from '../support/models/log-invariants.ts';
import { figure, isLong, timesOf } from '../support/suite/long.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { verifies } from '../support/suite/verifies.ts';
import { WatchedMailbox } from '../support/servers/watched-mailbox.ts';
import { wholeLog } from '../support/samples/whole-log.ts';

const MESSAGES = timesOf(150, 600);
const CLIENTS = 6;

interface Work {
  readonly id: string;
  readonly subject: string;
}

describe('two replicas of which one is killed at work', function () {
  this.timeout(timesOf(120_000, 300_000));
  let dovecot: TestDovecot;
  let set: ReplicaSet;
  let watched: WatchedMailbox;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    set = await ReplicaSet.start({}, () => [{}, {}]);
    watched = await WatchedMailbox.open(dovecot, 'anna');
    for (let n = 0; n < MESSAGES; n += 1) await watched.arrive('INBOX', `Load ${String(n)}`);
    mailboxId = await set.addMailbox(dovecot.imap());
  });

  after(async () => {
    watched.close();
    await set.remove();
    await dovecot.dispose();
  });

  const inbox = async (): Promise<Work[]> => {
    const found: Work[] = [];
    let cursor: string | null = null;
    do {
      const request = { select: { folder: 'inbox', limit: 100, ...(cursor === null ? {} : { cursor }) } };
      const { body } = await set.rest(1, ['POST', `/mailboxes/${mailboxId}/email.query`, request]);
      found.push(...(body.items as Work[]));
      cursor = (body.page as { next_cursor: string | null }).next_cursor;
    } while (cursor !== null);
    return found;
  };

  const archive = (replica: number, { id }: Work): Promise<Answer> => {
    const operation = {
      type: 'message_actions',
      select: { message_ids: [id] },
      actions: [{ type: 'archive' }],
    };
    return set.rest(replica, ['POST', `/mailboxes/${mailboxId}/email.act`, { operation }], { key: id });
  };

  /** As a client behind a load balancer: the same request again, wherever, until its outcome is final. */
  const untilFinal = async (
    work: Work,
    turn: number,
    { told, stuck }: { readonly told: ToldAnswer[]; readonly stuck: Set<number> },
  ): Promise<void> => {
    for (let attempt = turn; ; attempt += 1) {
      const answer = await archive(attempt % 2, work).catch(() => null);
      if (answer?.status === 200) {
        const results = answer.body.results as ToldResult[];
        told.push({ operationId: String(answer.body.operation_id), results });
        if (results.every(({ outcome }) => outcome !== 'unknown')) return;
      } else if (answer !== null) {
        expect(answer.body.error.retryable, JSON.stringify(answer.body)).to.equal(true);
        if (answer.body.error.code === 'idempotency_in_progress') stuck.add(turn);
      }
      await delay(100);
    }
  };

  it(`lose and repeat nothing, and finish the interrupted work within a minute ${verifies('contract:10:cut-off', 'contract:14:no-second-effect')}`, async () => {
    const works = await inbox();
    expect(works).to.have.length(MESSAGES);
    const waiting = [...works];
    const told: ToldAnswer[] = [];
    /** Clients whose request the dead replica had begun, as the living one tells them. */
    const stuck = new Set<number>();
    const working = new Set<number>();
    const client = async (turn: number): Promise<void> => {
      working.add(turn);
      for (let work = waiting.shift(); work; work = waiting.shift()) {
        stuck.delete(turn);
        await untilFinal(work, turn, { told, stuck });
      }
      working.delete(turn);
    };
    const clients = Promise.all(Array.from({ length: CLIENTS }, (_, turn) => client(turn)));
    await eventually(async () => {
      if (told.length < MESSAGES / 10) throw new Error(`${String(told.length)} done`);
    }, 60_000);
    const cutOff = await killAmidOperations(set);
    const killedAt = performance.now();
    stuck.clear();
    if (!isLong) {
      await eventually(async () => {
        const isDoneButForThose = waiting.length === 0 && [...working].every((turn) => stuck.has(turn));
        if (!isDoneButForThose) throw new Error(`${String(waiting.length)} wait`);
      }, 30_000);
      await expireLeases(set);
    }
    await clients;
    const seconds = (performance.now() - killedAt) / 1_000;
    figure(
      `${String(MESSAGES)} archives, a replica killed with ${String(cutOff)} begun: all final ${seconds.toFixed(1)} s later`,
    );
    expect(seconds).to.be.below(60);

    const copies = await watched.copiesOf('Load');
    const messages = works.map(({ id, subject }) => {
      const places = copies.flatMap((copy) => (copy.subject === subject ? [copy.path] : []));
      return { id, source: 'INBOX', destination: 'Archive', places };
    });
    expect(brokenInvariants({ events: await logOf(set), messages, answers: told })).to.deep.equal([]);
    const moved = messages.filter(({ places }) => places.join() === 'Archive');
    const done = told.flatMap(({ results }) => results.filter(({ outcome }) => outcome === 'done'));
    expect(moved.map(({ id }) => id)).to.have.members([...new Set(done.map(({ message_id }) => message_id))]);
  });
});

/** Held still until something it had begun is seen to stand open, then killed. Tells how much that was. */
async function killAmidOperations({ dataDir, replicas: [victim] }: ReplicaSet): Promise<number> {
  const store = openEventStore({ url: readRunFile(dataDir)?.eventstore_url ?? '', log: silentLog });
  try {
    for (let attempt = 0; attempt < 500; attempt += 1) {
      victim?.freeze();
      const before = openOperations(await wholeLog(store));
      // Long enough for its peer to end what was the peer's; with nothing open, work goes on at once.
      if (before.size > 0) await delay(60);
      const after = before.size > 0 ? openOperations(await wholeLog(store)) : before;
      const left = [...before].filter((stream) => after.has(stream)).length;
      if (left > 0) {
        await victim?.kill();
        return left;
      }
      victim?.wake();
      await delay(10);
    }
  } finally {
    await store.close();
  }
  throw new Error('the replica was never met amid an operation');
}

/** Streams with an intent and no outcome. */
function openOperations(log: readonly StoredEvent[]): ReadonlySet<string> {
  const open = new Set<string>();
  for (const { type, streamName } of log) {
    if (type === 'ActionsIntended') open.add(streamName);
    if (type === 'ActionOutcomesRecorded') open.delete(streamName);
  }
  return open;
}

/** As if the thirty seconds of the dead process had passed. */
async function expireLeases(set: ReplicaSet): Promise<void> {
  const client = await openDirectConnection(readRunFile(set.dataDir)?.database_url ?? '', 'test');
  await client.query('update work.lease set until = now()');
  await client.end();
}

async function logOf(set: ReplicaSet) {
  const store = openEventStore({ url: readRunFile(set.dataDir)?.eventstore_url ?? '', log: silentLog });
  try {
    return await wholeLog(store);
  } finally {
    await store.close();
  }
}

describe('two replicas whose stores are killed', function () {
  this.timeout(180_000);
  let set: ReplicaSet;

  before(async () => {
    set = await ReplicaSet.start({}, () => [{}, {}]);
  });
  after(() => set.remove());

  const add = (replica: number, name: string): Promise<Answer> =>
    set.rest(replica, ['POST', '/agents', { name }], { key: name });

  it(`answer 503 with the time to retry, and recover soon after the stores ${verifies('contract:13:retry-503')}`, async () => {
    expect((await add(0, 'before')).status).to.equal(201);
    await set.stores.kill();
    const refused = await Promise.all([add(0, 'first'), add(1, 'second')]);
    for (const { status, headers, body } of refused) {
      expect(status).to.equal(503);
      expect(body.error).to.include({ code: 'store_unavailable', retryable: true });
      expect(body.error.retry_after_seconds).to.be.greaterThan(0);
      expect(headers.get('retry-after')).to.match(/^[1-9]\d*$/);
    }
    await set.restartStores();
    const backAt = performance.now();
    const listed: Answer[] = [];
    const within = <T>(attempt: () => Promise<T>): Promise<T> => eventually(attempt, 20_000);
    for (const [replica, name] of ['first', 'second'].entries()) {
      await within(async () => {
        const { status, body } = await add(replica, name);
        if (status !== 201) throw new Error(JSON.stringify(body));
      });
    }
    for (const [here, there] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const { headers } = await add(here, `after-${String(here)}`);
      const position = { 'if-position': headers.get('position') ?? '' };
      await within(async () => {
        const read = await set.rest(there, ['GET', '/audit?limit=50'], { headers: position });
        if (read.status !== 200 || read.headers.has('stale')) throw new Error(JSON.stringify(read.body));
        listed.push(read);
      });
    }
    await Promise.all(set.replicas.map((replica) => replica.ready(20_000)));
    const seconds = (performance.now() - backAt) / 1_000;
    figure(`stores killed and started again: both replicas whole ${seconds.toFixed(1)} s after them`);
    expect(seconds).to.be.below(timesOf(20, 3));
    const created = (listed[1]?.body.items as { type: string }[]).filter(
      ({ type }) => type === 'AgentCreated',
    );
    expect(created).to.have.length(['bootstrap', 'before', 'first', 'second', 'after-0', 'after-1'].length);
  });
});
