import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type ConnectedEventStore, openEventStore } from '../../infra/event-store/event-store-client.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { CrashLine, type Passed, TAKES_LEASE } from '../support/models/crash-line.ts';
import { atPort, placeOf } from '../support/models/crashed-run.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Answer, eventually } from '../support/worlds/gateway.ts';
import { brokenInvariants, type ToldAnswer, type ToldResult } from '../support/models/log-invariants.ts';
import { figure, isLong } from '../support/suite/long.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';
import { ScriptedSmtp } from '../support/servers/scripted-smtp.ts';
import { brokenSendRules, type ToldSend } from '../support/models/send-invariants.ts';
import { QUICK_SENDS } from '../support/worlds/sending-world.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { verifies } from '../support/suite/verifies.ts';
import { WatchedMailbox } from '../support/servers/watched-mailbox.ts';
import { wholeLog } from '../support/samples/whole-log.ts';
import type { WireName } from '../support/servers/wire-messages.ts';

/** The first message of this sort: whoever sends it is stopped as it goes out. */
type Moment = readonly [wire: WireName, label: RegExp];

const BEFORE_MOVE: Moment = ['events', /^append OperationSubmitted/];
const ARCHIVES: readonly Moment[] = isLong
  ? [
      ['postgres', TAKES_LEASE],
      BEFORE_MOVE,
      ['imap', /^UID MOVE/],
      ['events', /^append ActionOutcomesRecorded/],
    ]
  : [BEFORE_MOVE];

const BEFORE_DATA: Moment = ['events', /^append SendDataBegun/];
const SENDS: readonly Moment[] = isLong
  ? [
      ['postgres', TAKES_LEASE],
      ['events', /^append OperationSubmitted/],
      ['events', /^append DraftFrozen/],
      ['smtp', /^DATA/],
      BEFORE_DATA,
      ['smtp', /^message/],
      ['smtp', /^final dot/],
      ['events', /^append DraftSent/],
      ['events', /^append SendOutcomeRecorded/],
    ]
  : [BEFORE_DATA];

const LEASE_SECONDS = '2';
/** What the same request is answered otherwise later. */
const PASSES: ReadonlySet<string> = new Set([
  'idempotency_in_progress',
  'provider_timeout',
  'store_unavailable',
]);

describe('a process that is paused in its work while another one settles it', function () {
  this.timeout(isLong ? 300_000 : 120_000);
  let dovecot: TestDovecot;
  let server: ScriptedSmtp;
  let set: ReplicaSet;
  let line: CrashLine;
  let events: ConnectedEventStore;
  let watched: WatchedMailbox;
  let databaseUrl: string;
  let mailboxId: string;
  let moment: Moment | null = null;

  const isMoment = ({ wire, label }: Passed): boolean =>
    moment !== null && moment[0] === wire && moment[1].test(label);

  before(async function () {
    dovecot = await requireTestDovecot(this);
    server = await ScriptedSmtp.start();
    watched = await WatchedMailbox.open(dovecot, 'anna');
    set = await ReplicaSet.start({}, async (stores) => {
      databaseUrl = stores.database_url;
      events = openEventStore({ url: stores.eventstore_url, log: silentLog });
      const places = {
        postgres: placeOf(databaseUrl),
        events: placeOf(stores.eventstore_url),
        imap: dovecot.imap(),
        smtp: { host: '127.0.0.1', port: server.port },
      };
      line = await CrashLine.open(places, isMoment);
      const times = { ...QUICK_SENDS, SEND_JUDGE_AFTER_SECONDS: '1', LEASE_SECONDS };
      const behindTheLine = {
        DATABASE_URL: atPort(databaseUrl, line.portOf('postgres')),
        EVENTSTORE_URL: atPort(stores.eventstore_url, line.portOf('events')),
      };
      return [{ ...times, ...behindTheLine, ROLES: 'api' }, times];
    });
    // Both reach the mail servers through the line; only the first one is asked to act while it is watched.
    mailboxId = await set.addMailbox({ host: '127.0.0.1', port: line.portOf('imap') }, line.portOf('smtp'));
    await set.allowSending('example.com');
  });

  after(async () => {
    watched.close();
    await events.close();
    await set.remove();
    await line.close();
    await server.stop();
    await dovecot.dispose();
  });

  /** The same request until its answer is one that stays. */
  const settled = (replica: number, path: string, body: object, key: string): Promise<Answer> =>
    eventually(async () => {
      const answer = await set.rest(replica, ['POST', path, body], { key });
      const { code = '' } = (answer.body.error ?? {}) as { code?: string };
      if (PASSES.has(code)) throw new Error(code);
      return answer;
    }, 30_000);

  /** Asks the first replica, stops it at the moment, lets the second one judge, and wakes the first: their answers in turn. */
  const stopAt = async (at: Moment, path: string, body: object): Promise<readonly Answer[]> => {
    const [victim] = set.replicas;
    const key = randomUUID();
    moment = at;
    const met = line.stopAt({ wire: at[0], index: 0, side: 'before' }, () => victim?.freeze());
    const asked = set.rest(0, ['POST', path, body], { key });
    try {
      await Promise.race([
        met,
        asked.then(({ body: early }) => Promise.reject(new Error(JSON.stringify(early)))),
      ]);
      moment = null;
      const judged = await settled(1, path, body, key);
      victim?.wake();
      const late = await asked;
      return [judged, late, await settled(0, path, body, key), await settled(1, path, body, key)];
    } finally {
      victim?.wake();
    }
  };

  for (const at of ARCHIVES) {
    it(`moves nothing that was reported as not moved: ${at.join(' ')} ${verifies('contract:10:cut-off', 'contract:14:no-second-effect')}`, async () => {
      const subject = `Frozen ${randomUUID()}`;
      await watched.arrive('INBOX', subject);
      const id = await eventually(async () => {
        const select = { folder: 'inbox', filter: { subject_contains: subject } };
        const { body } = await set.rest(1, ['POST', `/mailboxes/${mailboxId}/email.query`, { select }]);
        return (body.items as [{ id: string }])[0].id;
      });
      const operation = {
        type: 'message_actions',
        select: { message_ids: [id] },
        actions: [{ type: 'archive' }],
      };
      const answers = await stopAt(at, `/mailboxes/${mailboxId}/email.act`, { operation });
      const told = answers.flatMap(({ status, body }): ToldAnswer[] =>
        status === 200
          ? [{ operationId: String(body.operation_id), results: body.results as ToldResult[] }]
          : [],
      );
      expect(told.length, JSON.stringify(answers.map(({ body }) => body.error))).to.be.at.least(3);
      const copies = await watched.copiesOf(subject);
      const message = { id, source: 'INBOX', destination: 'Archive', places: copies.map(({ path }) => path) };
      expect(
        brokenInvariants({ events: await wholeLog(events), messages: [message], answers: told }),
      ).to.deep.equal([]);
      figure(
        `stopped at ${at.join(' ')}: ${told.at(-1)?.results[0]?.outcome ?? ''}, in ${message.places.join()}`,
      );
    });
  }

  for (const at of SENDS) {
    it(`sends nothing twice: ${at.join(' ')} ${verifies('contract:10:send-cut-off', 'contract:14:send-once')}`, async () => {
      const subject = `Frozen ${randomUUID()}`;
      const content = { to: ['bob@example.com'], subject, text: 'Hello.' };
      const made = await set.rest(1, ['POST', `/mailboxes/${mailboxId}/start_draft`, content], {
        key: randomUUID(),
      });
      const id = String(made.body.id);
      const answers = await stopAt(at, `/drafts/${id}/send_draft`, {});
      const told = answers.flatMap(({ status, body }): ToldSend[] => {
        const code = status === 200 ? 'completed' : String(body.error.code);
        return PASSES.has(code) ? [] : [{ code }];
      });
      // What passes is told as that; nothing else may come in between.
      expect(told.filter(({ code }) => code === 'internal_error')).to.deep.equal([]);
      const [first] = answers;
      const operationId = String(first?.body.operation_id ?? first?.body.error.details.operation_id);
      await copied(operationId);
      const streams = [`operation-${operationId}`, `draft-${id}`];
      const log = (await Promise.all(streams.map((stream) => events.readStream(stream)))).flat();
      const accepted = server.accepted.filter(({ raw }) => raw.includes(subject)).length;
      const copies = await watched.countIn('Sent', subject);
      const atCrash = { events: log, accepted };
      if (at === BEFORE_DATA) expect(accepted, 'who slept past its lease ends no message').to.equal(0);
      expect(brokenSendRules({ events: log, accepted, copies, told, atCrash })).to.deep.equal([]);
      figure(
        `stopped at ${at.join(' ')}: ${told.map(({ code }) => code).join()}, accepted ${String(accepted)}`,
      );
    });
  }

  /** The send is over, and what was sent has its copy. */
  const copied = async (operationId: string): Promise<void> => {
    const client = await openDirectConnection(databaseUrl, 'gateway tests');
    try {
      await eventually(async () => {
        const { rows } = await client.query('select told, phase from read.send where operation_id = $1', [
          operationId,
        ]);
        expect(rows[0]).to.deep.include({ told: true });
        expect(rows[0]).not.to.deep.include({ phase: 'sent' });
      });
    } finally {
      await client.end();
    }
  };
});
