import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { openEventStore } from '../../infra/event-store/event-store-client.ts';
import type { ConnectedEventStore } from '../../infra/event-store/event-store-client.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import {
  CrashLine,
  type CrashPoint,
  crashPointsOf,
  OF_LEASES,
  type Passed,
} from '../support/models/crash-line.ts';
import { atPort, databaseBehind, endAllLeases, placeOf } from '../support/models/crashed-run.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Answer, callRest, eventually } from '../support/worlds/gateway.ts';
import { GatewayProcess } from '../support/worlds/gateway-process.ts';
import { brokenInvariants, type ToldAnswer } from '../support/models/log-invariants.ts';
import { figure, timesOf } from '../support/suite/long.ts';
import { ReplicaSet, type Settings } from '../support/worlds/replica-set.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { spread } from '../support/suite/spread.ts';
import { verifies } from '../support/suite/verifies.ts';
import { WatchedMailbox } from '../support/servers/watched-mailbox.ts';
import { wholeLog } from '../support/samples/whole-log.ts';

const KILLS = timesOf(10, 100);

/** Of all a process sends, what an archive sends: its leases, its appends, its commands. */
const ofArchive = ({ wire, label }: Passed): boolean =>
  wire === 'imap' ||
  (wire === 'postgres' && OF_LEASES.test(label)) ||
  (wire === 'events' && /^append (Operation|Action)/.test(label));

describe('a gateway process killed before or after a message to a store', function () {
  this.timeout(timesOf(600_000, 900_000));
  let dovecot: TestDovecot;
  let watched: WatchedMailbox;
  let set: ReplicaSet;
  let line: CrashLine;
  let events: ConnectedEventStore;
  let databaseUrl: string;
  let settings: Settings;
  let mailboxId: string;
  let gateway: GatewayProcess;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    watched = await WatchedMailbox.open(dovecot, 'anna');
    set = await ReplicaSet.start({}, async (stores) => {
      databaseUrl = stores.database_url;
      events = openEventStore({ url: stores.eventstore_url, log: silentLog });
      const places = {
        postgres: placeOf(databaseUrl),
        events: placeOf(stores.eventstore_url),
        imap: dovecot.imap(),
      };
      line = await CrashLine.open(places, ofArchive);
      settings = {
        DATABASE_URL: databaseBehind(line, databaseUrl),
        EVENTSTORE_URL: atPort(stores.eventstore_url, line.portOf('events')),
      };
      return [settings];
    });
    mailboxId = await set.addMailbox({ host: '127.0.0.1', port: line.portOf('imap') });
    const [first] = set.replicas;
    if (!first) throw new Error('no replica');
    gateway = first;
  });

  after(async () => {
    await gateway.kill();
    await events.close();
    await line.close();
    await set.remove();
    watched.close();
    await dovecot.dispose();
  });

  const rest = (path: string, body: object, key?: string): Promise<Answer> =>
    callRest(gateway.address, ['POST', `/mailboxes/${mailboxId}/${path}`, body], {
      token: set.tokens.rest_token,
      ...(key === undefined ? {} : { key }),
    });

  const arrive = async (subject: string): Promise<string> => {
    await watched.arrive('INBOX', subject);
    const select = { folder: 'inbox', filter: { subject_contains: subject } };
    // The mail server takes its time to tell of it.
    return await eventually(async () => {
      const { body } = await rest('email.query', { select });
      return String(body.items[0].id);
    });
  };

  const archive = (id: string, key: string): Promise<Answer> => {
    const select = { message_ids: [id] };
    const operation = { type: 'message_actions', select, actions: [{ type: 'archive' }] };
    return rest('email.act', { operation }, key);
  };

  const told = ({ body }: Answer): ToldAnswer => ({ operationId: body.operation_id, results: body.results });

  /** Another message was archived before, so that every process has its connections and knows its server. */
  const warmUp = async (): Promise<void> => {
    const key = randomUUID();
    expect((await archive(await arrive(key), key)).body.summary.done).to.equal(1);
    await leasesGone();
  };

  const inDatabase = async (statement: string): Promise<readonly unknown[]> => {
    const client = await openDirectConnection(databaseUrl, 'gateway tests');
    const { rows } = await client.query<Record<string, unknown>>(statement);
    await client.end();
    return rows;
  };

  /** They are given up behind the answer. */
  const leasesGone = () =>
    eventually(async () => {
      expect(
        await inDatabase("select from work.lease where name like 'opn\\_%' and until > now()"),
      ).to.deep.equal([]);
    });

  const rehearse = async (): Promise<readonly CrashPoint[]> => {
    await warmUp();
    const key = randomUUID();
    const id = await arrive(key);
    line.record();
    await archive(id, key);
    await leasesGone();
    return crashPointsOf(line.passed);
  };

  const killAt = async (point: CrashPoint): Promise<readonly string[]> => {
    await warmUp();
    const key = randomUUID();
    const id = await arrive(key);
    const answers: ToldAnswer[] = [];
    const met = line.crashAt(point, () => {
      process.kill(gateway.pid, 'SIGKILL');
    });
    const ended = archive(id, key).then(
      (answer) => answers.push(told(answer)),
      () => undefined,
    );
    await met;
    await ended;
    expect(await gateway.ended()).to.equal(null);
    await endAllLeases(inDatabase);
    line.restore();
    gateway = await GatewayProcess.start({ env: set.settings(settings) });
    await gateway.ready();
    await eventually(async () => {
      const again = await archive(id, key);
      expect(again.status, JSON.stringify(again.body)).to.equal(200);
      answers.push(told(again));
    });
    await eventually(async () => {
      expect(await inDatabase('select from read.operation where not completed')).to.deep.equal([]);
    });
    answers.push(told(await archive(id, key)));
    const places = (await watched.copiesOf(key)).map(({ path }) => path);
    const message = { id, source: 'INBOX', destination: 'Archive', places };
    return brokenInvariants({ events: await wholeLog(events), messages: [message], answers });
  };

  it(`loses, repeats and hides nothing ${verifies('contract:10:cut-off', 'contract:10:reconciled', 'contract:14:no-second-effect')}`, async () => {
    const points = await rehearse();
    expect(new Set(points.map(({ wire }) => wire))).to.deep.equal(new Set(['events', 'imap', 'postgres']));
    const chosen = spread(points, KILLS);
    const startedAt = performance.now();
    const broken: string[] = [];
    for (const point of chosen) {
      for (const sentence of await killAt(point)) broken.push(`${JSON.stringify(point)}: ${sentence}`);
    }
    expect(broken.join('\n')).to.equal('');
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    figure(`${String(chosen.length)} kills at ${String(points.length)} points in ${seconds} s`);
  });
});
