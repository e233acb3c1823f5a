import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { type ConnectedEventStore, openEventStore } from '../../infra/event-store/event-store-client.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { readRunFile, type RunFacts } from '../../infra/process/run-file.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { callRest, eventually } from '../support/worlds/gateway.ts';
import { GatewayProcess } from '../support/worlds/gateway-process.ts';
import { LoadClient } from '../support/worlds/load-client.ts';
import { brokenInvariants } from '../support/models/log-invariants.ts';
import { figure, isLong, timesOf } from '../support/suite/long.ts';
import { MixedLoad } from '../support/worlds/mixed-load.ts';
import { rebuiltReadModels } from '../support/worlds/rebuilt-read-models.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { verifies } from '../support/suite/verifies.ts';
import { WatchedMailbox } from '../support/servers/watched-mailbox.ts';
import { wholeLog } from '../support/samples/whole-log.ts';

const ROUNDS = timesOf(3, 20);
/** What the load gets between a recovery and the next kill. */
const BETWEEN_MS = timesOf(300, 1_000);
const ROLES = ['api,mail', 'api,mail', 'projector'];

describe('kill -9 of every part under mixed load', function () {
  this.timeout(timesOf(600_000, 45 * 60_000));
  let dovecot: TestDovecot;
  let watched: WatchedMailbox;
  let set: ReplicaSet;
  let facts: RunFacts;
  let events: ConnectedEventStore;
  let load: MixedLoad;
  let client: LoadClient;
  const processes: GatewayProcess[] = [];
  /** Also those that were killed. */
  const everyProcess: GatewayProcess[] = [];

  before(async function () {
    dovecot = await requireTestDovecot(this);
    watched = await WatchedMailbox.open(dovecot, 'anna');
    set = await ReplicaSet.start({}, () => ROLES.map((roles) => ({ ROLES: roles })));
    processes.push(...set.replicas);
    everyProcess.push(...set.replicas);
    const found = readRunFile(set.dataDir);
    if (found === null) throw new Error('no run file');
    facts = found;
    events = openEventStore({ url: facts.eventstore_url, log: silentLog });
    const mailboxId = await set.addMailbox(dovecot.imap());
    client = new LoadClient(() => processes.slice(0, 2).map(({ address }) => address), set.tokens);
    load = new MixedLoad({ client, events, watched, mailboxId, agentId: set.tokens.agent_id });
  });

  after(async () => {
    await Promise.all(processes.map((each) => each.kill()));
    await load.abandon();
    await events.close();
    await set.remove();
    watched.close();
    await dovecot.dispose();
  });

  const inDatabase = async (statement: string): Promise<void> => {
    const connection = await openDirectConnection(facts.database_url, 'gateway tests');
    await connection.query(statement);
    await connection.end();
  };

  /** As if the thirty seconds of the dead process had passed; the long run waits for them. */
  const expireLeases = async (): Promise<void> => {
    if (!isLong) await inDatabase('update work.lease set until = now()');
  };

  const restart = async (index: number): Promise<void> => {
    const next = GatewayProcess.spawn({ env: set.settings({ ROLES: ROLES[index] ?? '' }) });
    everyProcess.push(next);
    await next.listening();
    processes[index] = next;
  };

  /** Throws what the load was refused, with what the processes logged. */
  const assertUnhurt = (): void => {
    try {
      load.assertUnhurt();
    } catch (error) {
      const logged = everyProcess.map(({ failures }) => failures).join('\n');
      throw new Error(`${String(error)}\nlogged as errors: ${logged}`, { cause: error });
    }
  };

  const leader = async (): Promise<number> => {
    for (const [index, { address }] of processes.entries()) {
      const ready = await fetch(`${address}/health/ready`);
      const { checks } = (await ready.json()) as { checks: { projector: { leader?: boolean } } };
      if (checks.projector.leader === true) return index;
    }
    throw new Error('nobody leads the read models');
  };

  const killProcess = async (index: number): Promise<() => Promise<void>> => {
    await processes[index]?.kill();
    // The other replica's own leases are safe: nobody else is there to take them.
    await expireLeases();
    return () => restart(index);
  };

  /** Each kills its part and tells how it comes back. */
  const parts: Readonly<Record<string, (round: number) => Promise<() => Promise<void>>>> = {
    'the event node': async () => {
      await set.stores.kill();
      return () => set.restartStores();
    },
    Postgres: async () => {
      const [pid] = (await readFile(join(set.dataDir, 'postgres/cluster/postmaster.pid'), 'utf8')).split(
        '\n',
      );
      process.kill(Number(pid), 'SIGKILL');
      return () => Promise.resolve();
    },
    'the leader of the read models': async () => killProcess(await eventually(leader, 20_000)),
    'a replica': (round) => killProcess(round % 2),
  };

  /** Resolves once each replica writes, and reads on the other what was written. */
  const works = async (): Promise<void> => {
    const token = set.tokens.rest_token;
    for (const index of [0, 1]) {
      const name = randomUUID();
      const address = (at: number): string => processes[at]?.address ?? '';
      const position = await eventually(async () => {
        const made = await callRest(address(index), ['POST', '/agents', { name }], { token, key: name });
        expect(made.status, JSON.stringify(made.body)).to.equal(201);
        return made.headers.get('position') ?? '';
      }, 30_000);
      await eventually(async () => {
        const headers = { 'if-position': position };
        const read = await callRest(address(1 - index), ['GET', '/audit?limit=1'], { token, headers });
        expect([read.status, read.headers.has('stale')]).to.deep.equal([200, false]);
      }, 30_000);
    }
  };

  it(`loses, repeats and reorders nothing, and recovers automatically ${verifies('contract:10:cut-off', 'contract:14:no-second-effect')}`, async () => {
    load.start();
    await eventually(() => {
      expect(load.archived.length).to.be.above(3);
      return Promise.resolve();
    });
    const startedAt = performance.now();
    const recoveries = new Map<string, number[]>();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [part, kill] of Object.entries(parts)) {
        assertUnhurt();
        const comeBack = await kill(round);
        const askedAt = performance.now();
        await comeBack();
        await works();
        recoveries.set(part, [...(recoveries.get(part) ?? []), performance.now() - askedAt]);
        await delay(BETWEEN_MS);
      }
    }
    assertUnhurt();
    const loadSeconds = (performance.now() - startedAt) / 1_000;
    const stopped = load.stop().catch((error: unknown) => {
      assertUnhurt();
      throw error;
    });
    // By now whatever still holds a lease is cut off.
    await Promise.race([stopped, delay(2_000).then(expireLeases)]);
    await stopped;
    await eventually(async () => {
      await inDatabase('select 1 / (select (count(*) = 0)::int from read.operation where not completed)');
    }, 60_000);
    // The mailbox's worker may still tell of the last changes: what it tells after this log is nobody's loss.
    const log = await wholeLog(events);
    await load.caughtUp(log.at(-1)?.position ?? -1n);

    const copies = Map.groupBy(await watched.copiesOf('load'), ({ subject }) => subject);
    const messages = load.archived.map(({ id, subject }) => {
      const places = (copies.get(subject) ?? []).map(({ path }) => path);
      return { id, source: 'INBOX', destination: 'Archive', places };
    });
    const broken = brokenInvariants({ events: log, messages, answers: load.answers });
    expect(broken.slice(0, 10)).to.deep.equal([]);

    const ids = log.map(({ id }) => id);
    expect(
      load.read.slice(0, ids.length).map(({ id }) => id),
      'what the subscriber was handed',
    ).to.deep.equal(ids);
    const known = new Set(ids);
    const lost = [...load.acknowledged].filter((id) => !known.has(id));
    expect(lost, 'acknowledged events').to.deep.equal([]);
    const names = log
      .filter(({ type }) => type === 'TokenIssued' || type === 'AgentCreated')
      .map(({ data }) => String(data['name']))
      .filter((name) => load.made.has(name));
    expect(names, 'made exactly once')
      .to.have.lengthOf(load.made.size)
      .and.have.members([...load.made]);
    for (const id of load.issued) {
      const { status } = await client.rest<{ status: string }>('GET', `/tokens/${id}`, undefined, null);
      expect(status, `token ${id}`).to.equal(load.revoked.has(id) ? 'revoked' : 'active');
    }

    const keyFile = join(set.dataDir, 'master.key');
    const { live, rebuilt, parked } = await rebuiltReadModels({
      databaseUrl: facts.database_url,
      keyFile,
      events,
    });
    expect(Object.keys(live)).to.include.members(['operation', 'audit']);
    expect(rebuilt, 'read models').to.deep.equal(live);
    expect(parked, 'parked events').to.equal(0);

    const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
    for (const [part, times] of recoveries) {
      const sorted = times.toSorted((a, b) => a - b);
      const [least = 0, middle = 0, most = 0] = [0, sorted.length >> 1, sorted.length - 1].map(
        (n) => sorted[n],
      );
      figure(
        `${part}: killed ${String(times.length)} times, all works again ${seconds(least)} to ${seconds(most)} s later, median ${seconds(middle)} s`,
      );
    }
    figure(
      `${loadSeconds.toFixed(0)} s of load: ${String(client.answered)} requests answered, ${String(client.disturbed)} attempts disturbed, ${String(messages.length)} archives, ${String(load.acknowledged.size)} raw events, ${String(log.length)} events in all`,
    );
  });
});
