import { expect } from 'chai';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { SYNC_TIMES } from '../../../../infra/mail-sync/sync-times.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { COURIER_LIKE, type ImapHabits, MODERN } from '../../../support/servers/imap-habits.ts';
import { plainMessage } from '../../../support/servers/mail-append.ts';
import { queryOf } from '../../../support/worlds/mail-gateway.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { PlainAccount } from '../../../support/servers/plain-account.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const ROUND_MS = 60_000;
/** Much less than an IDLE of Courier, or a round, and with room for a busy machine. */
const TOLD_MS = 15_000;
/** One poll asks, one fetches; another may be under way when the message arrives. */
const MOST_POLLS = 3;
const PROMISED_MS = 2_000;
const QUIET_MS = 3_000;
const MOST_LESSONS = 10;
const WITHOUT_IDLE: ImapHabits = { ...MODERN, capabilities: MODERN.capabilities.replace(' IDLE', '') };

describe('new mail in INBOX', function () {
  this.timeout(90_000);
  let server: ScriptedImapServer<PlainAccount>;
  let rig: SyncRig;
  let count: number;

  const start = async (habits: ImapHabits): Promise<void> => {
    count = 0;
    server = await ScriptedImapServer.start(habits, new PlainAccount(['INBOX'], habits.delimiter));
    rig = await startSyncRig(server.imap(), 'anna');
    rig.work({ roundEveryMs: ROUND_MS });
    await eventually(
      async () => rig.entry().state === 'connected' && (await rig.differences()).length === 0,
      TOLD_MS,
    );
  };
  before(() => {
    expect(SYNC_TIMES.pollEveryMs).to.be.below(PROMISED_MS);
  });
  afterEach(async () => {
    await rig.close();
    await server.close();
  });

  const arrive = (): void => {
    count += 1;
    server.account.deliver({ raw: plainMessage({ subject: String(count) }), labels: ['INBOX'] });
  };
  const polls = (): number => server.heard.filter((command) => command === 'NOOP').length;
  /** After so long that it falls into the middle of an IDLE, if there is one. The next poll reports it at the latest. */
  const arriveAfter = async (ms: number): Promise<void> => {
    await systemClock.sleep(ms);
    const before = polls();
    arrive();
    await eventually(() => rig.told().length === count, TOLD_MS);
    expect(polls() - before).to.be.at.most(MOST_POLLS);
  };
  const isIdling = (): boolean => server.heard.at(-1)?.startsWith('IDLE') === true;
  const isVouched = async (): Promise<boolean> => {
    const answer = await rig.index.query(rig.whole(), queryOf({ folders: [rig.folder('INBOX')] }));
    return answer?.states[0]?.attested === true;
  };
  /** What the server is asked while nothing happens. */
  const askedInQuiet = async (): Promise<readonly string[]> => {
    const before = server.heard.length;
    await systemClock.sleep(QUIET_MS);
    return server.heard.slice(before).map((command) => command.split(' ', 1)[0] ?? '');
  };

  it(`is reported by the next poll when IDLE is a minute late, and INBOX is not attested ${verifies('contract:5:late-idle')}`, async () => {
    await start(COURIER_LIKE);
    await eventually(isVouched);
    for (const ms of [0, 300, 700, 1_100]) await arriveAfter(ms);
    await eventually(async () => !(await isVouched()));
    await arriveAfter(1_000);
    // The look at the last news may still be under way.
    await eventually(
      async () => (await askedInQuiet()).every((command) => command === 'NOOP' || command === 'IDLE'),
      4 * QUIET_MS,
    );
  });

  it(`is reported by the next poll when there is no IDLE, and fetched only on news ${verifies('contract:5:late-idle')}`, async () => {
    await start(WITHOUT_IDLE);
    for (const ms of [0, 300, 700, 1_100]) await arriveAfter(ms);
    // The look at the last news may still be under way.
    await eventually(async () => {
      const asked = await askedInQuiet();
      return asked.length >= 1 && asked.length <= 3 && asked.every((command) => command === 'NOOP');
    }, 4 * QUIET_MS);
  });

  it(`is not polled for when IDLE reports it at once ${verifies('contract:5:late-idle')}`, async () => {
    await start(MODERN);
    let asked = await askedInQuiet();
    expect(asked, 'before the server told anything').to.include('NOOP');
    // On a busy machine news may miss the part of an IDLE that shows whether the server is prompt.
    for (let at = 0; at < MOST_LESSONS && asked.length > 0; at += 1) {
      await arriveAfter(0);
      await eventually(isIdling);
      await arriveAfter(700);
      // After the look at the news.
      await eventually(isIdling);
      asked = await askedInQuiet();
    }
    expect(asked).to.deep.equal([]);
    await eventually(isVouched);
  });
});
