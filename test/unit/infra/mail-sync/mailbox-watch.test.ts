import { expect } from 'chai';
import type { BackgroundSync } from '../../../../infra/mail-sync/background-sync.ts';
import type { FolderRounds } from '../../../../infra/mail-sync/fetch-folders.ts';
import { IdleVerdicts } from '../../../../infra/mail-sync/idle-verdicts.ts';
import type { MailboxSync } from '../../../../infra/mail-sync/mailbox-sync.ts';
import { MailboxWatch } from '../../../../infra/mail-sync/mailbox-watch.ts';
import { SYNC_TIMES } from '../../../../infra/mail-sync/sync-times.ts';
import type { WatchLease } from '../../../../infra/mail/connection-pool.ts';
import type { ImapConnection } from '../../../../infra/mail/imap-connection.ts';
import { WakeSignal } from '../../../../infra/concurrency/wake-signal.ts';
import { type SqlText, textOf } from '../../../../commands/ports/statement.ts';
import { HeldSleeps } from '../../../support/fakes/held-sleeps.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';

const INBOX = { number: 1, path: 'INBOX' };
const MIRROR = { uidValidity: 7, uidNext: 5, indexedFrom: 1, highestModseq: null, total: 4 };
/** Where the message was that an own move took. */
const LEFT = { mailboxNumber: 1, folderNumber: INBOX.number, uidValidity: 7, uid: 4 };
const GATHER_MS = 25;
const QUIET_MS = 1_000;

/** What is ready to run has run. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
};

/** An INBOX without differences, on a server that reports news at once. */
class FakeConnection {
  readonly isUsable = true;
  readonly canListen = true;
  readonly highestModseq = null;
  readonly openPath = INBOX.path;
  isListening = false;
  arrivals = 0;
  looks = 0;
  change: (vanished: number | null) => void = () => undefined;

  watch(onChange: (vanished: number | null) => void): void {
    this.change = onChange;
  }

  listen(): void {
    this.isListening = true;
  }

  open(): Promise<object> {
    this.looks += 1;
    this.isListening = false;
    return Promise.resolve({ ...INBOX, uidValidity: MIRROR.uidValidity, exists: MIRROR.total, uidNext: 5 });
  }

  run(): Promise<object> {
    return Promise.resolve({ present: new Map(), vanished: new Set(), total: MIRROR.total, modseq: null });
  }

  arrive(): void {
    this.arrivals += 1;
    this.change(null);
  }
}

function startWatch() {
  const clock = new ManualClock();
  const sleeps = new HeldSleeps(clock);
  const connection = new FakeConnection();
  const wake = new WakeSignal();
  const ending = new AbortController();
  const settledRows: object[] = [];
  const query = (statement: SqlText): Promise<readonly object[]> =>
    Promise.resolve(textOf(statement).includes('f.trusted') ? settledRows : []);
  const sync = {
    mailboxId: 'mbx_1',
    unfinished: new Set(),
    ports: { clock, sql: { query }, locators: { message: String, openMessage: () => LEFT } },
    feed: { append: () => Promise.resolve(1n) },
    applyMoves: () => Promise.resolve(),
    inTurn: (step: () => Promise<unknown>) => step(),
    assertHeld: () => undefined,
    mirrorOf: () => Promise.resolve(MIRROR),
    invalidationsOf: () => Promise.resolve(0),
    apply: () => Promise.resolve(MIRROR),
    attest: () => Promise.resolve(),
  } as unknown as MailboxSync;
  const verdicts = new IdleVerdicts();
  verdicts.reportedUnasked('host:143', 'mbx_1', 1_000);
  const watch = new MailboxWatch({
    sync,
    verdicts,
    wake,
    server: 'host:143',
    lease: { connection: connection as unknown as ImapConnection, isWanted: false } as WatchLease,
    rounds: { folders: [INBOX], poll: () => Promise.resolve([]) } as unknown as FolderRounds,
    background: {
      start: () => Promise.resolve(),
      askAfterList: () => undefined,
      ask: () => undefined,
      isIdle: true,
    } as unknown as BackgroundSync,
    times: { ...SYNC_TIMES, gatherMs: GATHER_MS },
    life: () => null,
  });
  const done = watch.run(ending.signal);
  const end = async (): Promise<void> => {
    ending.abort();
    wake.ring();
    await settled();
    sleeps.end(GATHER_MS);
    await done;
  };
  return { clock, sleeps, connection, watch, verdicts, settledRows, end };
}

describe('MailboxWatch', () => {
  let world: ReturnType<typeof startWatch>;
  beforeEach(async () => {
    world = startWatch();
    await settled();
    expect(world.connection.looks).to.equal(1);
    world.clock.advance(QUIET_MS);
  });
  afterEach(() => world.end());

  it('looks at new mail without a pause when the last look was long ago', async () => {
    world.connection.arrive();
    await settled();
    expect(world.connection.looks).to.equal(2);
  });

  it('gathers the mail that follows a look for the next one', async () => {
    const { connection, clock, sleeps } = world;
    connection.arrive();
    await settled();
    clock.advance(10);
    for (let mails = 0; mails < 100; mails += 1) connection.arrive();
    await settled();
    expect(connection.looks, 'too soon').to.equal(2);
    sleeps.end(GATHER_MS - 10);
    await settled();
    expect(connection.looks).to.equal(3);
  });

  it('gathers changes that are not new mail, however long ago the last look was', async () => {
    const { connection, watch, sleeps } = world;
    watch.markChanged([INBOX.number]);
    connection.change(null);
    await settled();
    expect(connection.looks, 'too soon').to.equal(1);
    sleeps.end(GATHER_MS);
    await settled();
    expect(connection.looks).to.equal(2);
  });

  it('looks at once when more messages vanish than own moves could have taken', async () => {
    const { connection, watch, sleeps } = world;
    expect(watch.isCurrent).to.equal(true);
    for (let uid = 1; uid <= 200_000; uid += 1) connection.change(uid);
    expect(watch.isCurrent).to.equal(false);
    await settled();
    sleeps.end(GATHER_MS);
    await settled();
    expect(connection.looks).to.equal(2);
    expect(watch.isCurrent).to.equal(true);
  });

  it('is not current while a message that the server reported gone waits for an own move', async () => {
    const { connection, watch } = world;
    connection.change(4);
    await settled();
    expect(connection.looks, 'held').to.equal(1);
    expect(watch.isCurrent).to.equal(false);
  });

  it('looks at INBOX after an own move when the server turns out to report late', async () => {
    const { connection, watch, verdicts, sleeps, settledRows } = world;
    const folder = { folder_number: 1, uid_validity: '7', uid_next: '5', total: '4', followed: true };
    const settledBy = { expectation_id: 'a', operation_id: 'opn_a', flags: [true], keywords: null };
    const change = { kind: 'leaves', folder: 1, uidValidity: 7, uid: 4, moved: true };
    const counted = { distrusts: '1', trusted: '0', taken: false };
    const arrival = { ...change, kind: 'arrives', folder: 2, uid: 9, previousId: 'msg_4' };
    settledRows.push({ ...folder, ...settledBy, ...counted, id: '1', change });
    settledRows.push({ ...folder, ...settledBy, ...counted, folder_number: 2, id: '2', change: arrival });
    watch.markSettled([1]);
    await settled();
    sleeps.end(GATHER_MS);
    await settled();
    expect(connection.looks, 'not for the move').to.equal(1);
    for (let news = 0; news < 3; news += 1) verdicts.reportedOnAsking('host:143');
    watch.markSettled([]);
    await settled();
    sleeps.end(GATHER_MS);
    await settled();
    expect(connection.looks).to.equal(2);
  });
});
