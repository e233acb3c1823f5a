import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type ConnectedEventStore, openEventStore } from '../../infra/event-store/event-store-client.ts';
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
import { figure, timesOf } from '../support/suite/long.ts';
import { withClient } from '../support/servers/mail-append.ts';
import { ReplicaSet, type Settings } from '../support/worlds/replica-set.ts';
import { ScriptedSmtp } from '../support/servers/scripted-smtp.ts';
import { brokenSendRules, type ToldSend } from '../support/models/send-invariants.ts';
import { QUICK_SENDS } from '../support/worlds/sending-world.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { spread } from '../support/suite/spread.ts';
import { verifies } from '../support/suite/verifies.ts';

const KILLS = timesOf(10, 100);

/** Of all a process sends, what a send sends: its leases, its appends, its commands. */
const ofSend = ({ wire, label }: Passed): boolean =>
  wire === 'smtp' ||
  (wire === 'postgres' && OF_LEASES.test(label)) ||
  (wire === 'events' &&
    /^append (OperationSubmitted|DraftFrozen|DraftSent|SendDataBegun|SendOutcomeRecorded)/.test(label));

describe('a gateway process killed in the middle of a send', function () {
  this.timeout(timesOf(600_000, 900_000));
  let dovecot: TestDovecot;
  let server: ScriptedSmtp;
  let set: ReplicaSet;
  let line: CrashLine;
  let events: ConnectedEventStore;
  let databaseUrl: string;
  let settings: Settings;
  let mailboxId: string;
  let gateway: GatewayProcess;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    server = await ScriptedSmtp.start();
    set = await ReplicaSet.start({}, async (stores) => {
      databaseUrl = stores.database_url;
      events = openEventStore({ url: stores.eventstore_url, log: silentLog });
      const places = {
        postgres: placeOf(databaseUrl),
        events: placeOf(stores.eventstore_url),
        smtp: { host: '127.0.0.1', port: server.port },
      };
      line = await CrashLine.open(places, ofSend);
      settings = {
        ...QUICK_SENDS,
        SEND_JUDGE_AFTER_SECONDS: '1',
        DATABASE_URL: databaseBehind(line, databaseUrl),
        EVENTSTORE_URL: atPort(stores.eventstore_url, line.portOf('events')),
      };
      return [settings];
    });
    mailboxId = await set.addMailbox(dovecot.imap(), line.portOf('smtp'));
    await set.allowSending('example.com');
    const [first] = set.replicas;
    if (!first) throw new Error('no replica');
    gateway = first;
  });

  after(async () => {
    await gateway.kill();
    await events.close();
    await line.close();
    await set.remove();
    await server.stop();
    await dovecot.dispose();
  });

  const rest = (path: string, body: object, key: string): Promise<Answer> =>
    callRest(gateway.address, ['POST', path, body], { token: set.tokens.rest_token, key });

  const draft = async (subject: string): Promise<string> => {
    const content = { to: ['bob@example.com'], subject, text: 'Hello.' };
    const answer = await rest(`/mailboxes/${mailboxId}/start_draft`, content, randomUUID());
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return String(answer.body.id);
  };

  const send = (draftId: string, key: string): Promise<Answer> =>
    rest(`/drafts/${draftId}/send_draft`, {}, key);

  const told = ({ status, body }: Answer): ToldSend => ({
    code: status === 200 ? 'completed' : String(body.error.code),
  });

  const inDatabase = async (statement: string): Promise<readonly unknown[]> => {
    const client = await openDirectConnection(databaseUrl, 'gateway tests');
    const { rows } = await client.query<Record<string, unknown>>(statement);
    await client.end();
    return rows;
  };

  /** Leases are given up behind the answer. */
  const leasesGone = () =>
    eventually(async () => {
      const held = "select from work.lease where until > now() and name like 'opn_%'";
      expect(await inDatabase(held)).to.deep.equal([]);
    });

  /** The send is over, and what was sent has its copy. */
  const settled = (operationId: string) =>
    eventually(async () => {
      const [row] = await inDatabase(
        `select told, phase from read.send where operation_id = '${operationId}'`,
      );
      expect(row).to.deep.include({ told: true });
      expect(row).not.to.deep.include({ phase: 'sent' });
    });

  const rehearse = async (): Promise<readonly CrashPoint[]> => {
    const id = await draft('Rehearsal');
    await leasesGone();
    line.record();
    const answer = await send(id, randomUUID());
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    await leasesGone();
    const passed = [...line.passed];
    await settled(String(answer.body.operation_id));
    return crashPointsOf(passed).filter(({ label, side }) => label !== 'message' || side === 'before');
  };

  const copiesOf = (subject: string): Promise<number> =>
    withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen('Sent', { readOnly: true });
      const uids = await client.search({ subject }, { uid: true });
      return Array.isArray(uids) ? uids.length : 0;
    });

  const acceptedOf = (subject: string): number =>
    server.accepted.filter(({ raw }) => raw.includes(subject)).length;

  const eventsOf = async (draftId: string, operationId: string) =>
    (
      await Promise.all(
        [`operation-${operationId}`, `draft-${draftId}`].map((stream) => events.readStream(stream)),
      )
    ).flat();

  const killAt = async (point: CrashPoint): Promise<readonly string[]> => {
    const key = randomUUID();
    const subject = `Mail ${key}`;
    const id = await draft(subject);
    await leasesGone();
    const answers: ToldSend[] = [];
    const met = line.crashAt(point, () => {
      process.kill(gateway.pid, 'SIGKILL');
    });
    const ended = send(id, key).then(
      (answer) => answers.push(told(answer)),
      () => undefined,
    );
    await met;
    await ended;
    expect(await gateway.ended()).to.equal(null);
    const accepted = acceptedOf(subject);
    await endAllLeases(inDatabase);
    line.restore();
    gateway = await GatewayProcess.start({ env: set.settings(settings) });
    await gateway.ready();
    const operationId = await eventually(async () => {
      const again = await send(id, key);
      const answer = told(again);
      if (['idempotency_in_progress', 'provider_timeout'].includes(answer.code)) throw new Error(answer.code);
      answers.push(answer);
      return String(again.body.operation_id ?? again.body.error.details.operation_id);
    }, 20_000);
    answers.push(told(await send(id, key)));
    await settled(operationId);
    const log = await eventsOf(id, operationId);
    return brokenSendRules({
      events: log,
      accepted: acceptedOf(subject),
      copies: await copiesOf(subject),
      told: answers,
      // What was in the log then is in it now: the intents stand before everything else.
      atCrash: { events: log, accepted },
    });
  };

  it(`loses and repeats no mail ${verifies('contract:10:send-cut-off', 'contract:10:send-unknown', 'contract:14:send-once')}`, async () => {
    const points = await rehearse();
    expect(new Set(points.map(({ wire }) => wire))).to.deep.equal(new Set(['events', 'postgres', 'smtp']));
    const chosen = spread(points, KILLS);
    const startedAt = performance.now();
    const broken: string[] = [];
    for (const point of chosen) {
      for (const sentence of await killAt(point)) broken.push(`${JSON.stringify(point)}: ${sentence}`);
    }
    expect(broken.join('\n')).to.equal('');
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    figure(`${String(chosen.length)} kills at ${String(points.length)} points of a send in ${seconds} s`);
  });
});
