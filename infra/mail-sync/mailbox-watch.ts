/**
 * One connection's life: it idles on INBOX, asks after it where the server does not tell in time and, in rounds, after the other
 * folders. Whatever is found is brought into feed and copy; when the connection ends, the worker makes another.
 */
import type { FolderRef } from '../../commands/mail/message.ts';
import type { WatchLease } from '../mail/connection-pool.ts';
import type { ImapConnection } from '../mail/imap-connection.ts';
import { connectionLost } from '../mail/mail-errors.ts';
import type { BackgroundSync } from './background-sync.ts';
import type { WakeSignal } from '../concurrency/wake-signal.ts';
import type { IdleVerdicts } from './idle-verdicts.ts';
import { pollFolder } from './poll-folder.ts';
import { MailboxLost } from './mailbox-leases.ts';
import type { MailboxSync } from './mailbox-sync.ts';
import { type FolderRounds, isInbox } from './fetch-folders.ts';
import { jittered, type SyncTimes } from './sync-times.ts';
import type { Life } from './worker-heartbeat.ts';

export interface WatchOptions {
  readonly sync: MailboxSync;
  readonly lease: WatchLease;
  readonly rounds: FolderRounds;
  readonly background: BackgroundSync;
  readonly times: SyncTimes;
  readonly wake: WakeSignal;
  readonly verdicts: IdleVerdicts;
  /** `<host>:<port>`. */
  readonly server: string;
  /** The life of the process now (`worker-heartbeat.ts`). */
  readonly life: () => Life | null;
}

/** Two rounds without a renewal, and answers from the copy of INBOX are held against the server again. */
const ATTESTED_ROUNDS = 2;

/**
 * How long INBOX may go unheard: between two looks while a round takes the connection, and from the beginning of an IDLE that
 * the server ended to the next one, should it end them all at once.
 */
const UNHEARD_MS = 1_000;

export class MailboxWatch {
  readonly #options: WatchOptions;
  #inboxChanged = true;
  /** The server told of a change in INBOX that no look has seen yet. */
  #inboxReported = false;
  #nextRoundAt: number;
  #listensFrom = 0;
  /** When the last IDLE began. */
  #listenedAt = 0;
  /** When a look at INBOX last began, and when the copy of INBOX was last vouched for. */
  #polledAt = 0;
  #attestedAt = 0;
  #nextAskAt = 0;
  #isAttesting = false;
  #failure: Error | null = null;
  /** What the process had before INBOX was last found to be as the copy has it. */
  #life: Life | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
    // Anywhere in the first one: mailboxes that were connected together do not ask together.
    this.#nextRoundAt = performance.now() + Math.random() * options.times.roundEveryMs;
    this.#subscribe();
  }

  /** Everything the server has told is in feed and copy. */
  get isCurrent(): boolean {
    return !this.#isInboxBehind && this.#options.background.isIdle;
  }

  get #isInboxBehind(): boolean {
    return this.#inboxChanged || this.#inboxReported;
  }

  /** Somebody changed these folders; none named = all. */
  markChanged(numbers: readonly number[]): void {
    const { rounds, background, wake } = this.#options;
    const changed = rounds.folders.filter(({ number }) => numbers.length === 0 || numbers.includes(number));
    if (changed.some(isInbox)) this.#inboxChanged = true;
    background.ask(changed.filter((folder) => !isInbox(folder)));
    wake.ring();
  }

  /** A list of the folders is wanted now. */
  askForRound(): void {
    this.#nextRoundAt = Math.min(this.#nextRoundAt, performance.now() + this.#options.times.lookEveryMs);
    this.#options.wake.ring();
  }

  /** The background work cannot go on: the connection is given up too. */
  fail(error: unknown): void {
    this.#failure = error instanceof Error ? error : new Error(String(error));
    this.#options.wake.ring();
  }

  /** Resolves when the signal aborts. Throws `mailbox_unavailable` when the connection ends, `MailboxLost`, `FencedOff`. */
  async run(signal: AbortSignal): Promise<void> {
    const { lease } = this.#options;
    while (!signal.aborted) {
      this.#assertWell();
      const inbox = this.#inbox;
      if (this.#isAttesting && !this.#isReportedInTime) await this.endAttesting();
      if (inbox && this.#isInboxBehind) await this.#pollInbox(inbox);
      else if (performance.now() >= this.#nextRoundAt) await this.#round(signal);
      else if (lease.isWanted) await this.#giveWay();
      else if (inbox && this.#isAsked && performance.now() >= this.#nextAskAt) await this.#ask(inbox);
      else await this.#pause(inbox, signal);
    }
  }

  /** Until there is something to do; meanwhile the server may tell of INBOX, and folders are worked on. */
  async #pause(inbox: FolderRef | undefined, signal: AbortSignal): Promise<void> {
    const { sync, background, wake, times } = this.#options;
    await background.start();
    await this.#listen(inbox);
    await wake.sleep(this.#pauseMs(inbox));
    await sync.ports.clock.sleep(times.gatherMs, signal);
    const { canListen, isListening } = this.#connection;
    if (inbox && canListen && !isListening) this.#inboxChanged = true;
  }

  get #connection(): ImapConnection {
    return this.#options.lease.connection;
  }

  get #inbox(): FolderRef | undefined {
    return this.#options.rounds.folders.find(isInbox);
  }

  /** What happens in INBOX is told by the server itself, soon enough to answer from the copy. */
  get #isReportedInTime(): boolean {
    const { verdicts, server } = this.#options;
    return this.#connection.canListen && verdicts.verdictOf(server) !== 'late';
  }

  /** INBOX is asked after, in an IDLE too. */
  get #isAsked(): boolean {
    const { verdicts, server, sync } = this.#options;
    return !this.#connection.canListen || verdicts.isAsked(server, sync.mailboxId);
  }

  #assertWell(): void {
    if (this.#failure) throw this.#failure;
    if (!this.#connection.isUsable) throw connectionLost();
    this.#options.sync.assertHeld();
  }

  #subscribe(): void {
    const { wake, verdicts, server, sync } = this.#options;
    const connection = this.#connection;
    connection.watch(
      () => {
        const listenedMs = performance.now() - this.#listenedAt;
        if (connection.isListening) verdicts.reportedUnasked(server, sync.mailboxId, listenedMs);
        this.#inboxReported = true;
        wake.ring();
      },
      () => {
        wake.ring();
      },
    );
  }

  /** Others use the only connection; what happened in INBOX meanwhile is seen by another look. */
  async #giveWay(): Promise<void> {
    await this.endAttesting();
    this.#inboxChanged = true;
    const before = this.#connection;
    await this.#options.lease.giveWay();
    if (this.#connection !== before) this.#subscribe();
  }

  async #pollInbox(inbox: FolderRef): Promise<void> {
    this.#inboxChanged = false;
    this.#polledAt = performance.now();
    this.#nextAskAt = this.#polledAt + this.#options.times.pollEveryMs;
    const { sync } = this.#options;
    const life = this.#options.life();
    const seen = (): void => {
      this.#inboxReported = false;
    };
    // What the server tells when asked for news is in the very look that asked.
    if ((await pollFolder(sync, this.#connection, inbox, seen)) === null) {
      seen();
      this.askForRound();
    }
    this.#life = life;
  }

  /** Whether there is news; what they are is seen by a look. */
  async #ask(inbox: FolderRef): Promise<void> {
    const connection = this.#connection;
    if (connection.openPath !== inbox.path) {
      this.#inboxChanged = true;
      return;
    }
    const { times, verdicts, server } = this.#options;
    const [askedAt, wasListening] = [performance.now(), connection.isListening];
    await connection.run((client) => client.noop());
    if (this.#inboxReported && wasListening) verdicts.reportedOnAsking(server);
    // A server that takes longer than the time between two leaves room for all else.
    this.#nextAskAt = Math.max(askedAt + times.pollEveryMs, performance.now() + times.lookEveryMs);
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { sync, rounds, background, times, verdicts, server } = this.#options;
    this.#nextRoundAt = performance.now() + jittered(times.roundEveryMs);
    const life = this.#options.life();
    const changed = await rounds.poll(this.#connection, () => this.#breakOff(signal));
    // A round that takes longer than the time between two leaves room for all else.
    this.#nextRoundAt = Math.max(this.#nextRoundAt, performance.now() + times.lookEveryMs);
    if (changed.some(isInbox)) {
      // Numbered anew under an open folder: only opening it again shows that.
      this.#connection.doubtFolder();
      verdicts.missed(server);
      this.#inboxChanged = true;
    }
    background.askAfterList(changed.filter((folder) => !isInbox(folder)));
    // With news of INBOX the look that follows has to come first.
    if (!this.#isInboxBehind) {
      this.#life = life;
      await this.#attest(this.#inbox);
    }
    sync.assertHeld();
  }

  /** Between two commands of a round, which may be long: who waits, INBOX and the work on folders do not wait for its end. */
  async #breakOff(signal: AbortSignal): Promise<ImapConnection> {
    if (signal.aborted) throw new MailboxLost(this.#options.sync.mailboxId);
    this.#assertWell();
    const { lease, background } = this.#options;
    await background.start();
    if (lease.isWanted) await this.#giveWay();
    // Not every server tells of new mail while it answers for another folder.
    const isDue = performance.now() - this.#polledAt >= UNHEARD_MS;
    if (this.#inbox && (this.#isInboxBehind || isDue)) await this.#pollInbox(this.#inbox);
    return this.#connection;
  }

  /** At once, not when the client thinks it is time: the mail that follows another is to be seen as soon. */
  async #listen(inbox: FolderRef | undefined): Promise<void> {
    const connection = this.#connection;
    const beganAt = performance.now();
    if (!inbox || !connection.canListen || connection.isListening || beganAt < this.#listensFrom) return;
    this.#listenedAt = beganAt;
    connection.listen(() => {
      this.#listensFrom = beganAt + UNHEARD_MS;
      this.#options.wake.ring();
    });
    if (this.#attestedAt <= this.#polledAt) await this.#attest(inbox);
  }

  /** Nobody is told any more of what happens in INBOX: answers from its copy are held against the server again. */
  async endAttesting(): Promise<void> {
    if (this.#inbox) await this.#options.sync.attest(this.#inbox, { forMs: 0, life: null });
    this.#isAttesting = false;
  }

  async #attest(inbox: FolderRef | undefined): Promise<void> {
    const { sync, times } = this.#options;
    if (!inbox || !this.#isReportedInTime || (await sync.mirrorOf(inbox)) === null) return;
    this.#isAttesting = true;
    this.#attestedAt = performance.now();
    await sync.attest(inbox, { forMs: times.roundEveryMs * ATTESTED_ROUNDS, life: this.#life });
  }

  #pauseMs(inbox: FolderRef | undefined): number {
    const { isListening, canListen } = this.#connection;
    const wakeAt = [this.#nextRoundAt];
    if (inbox && canListen && !isListening) wakeAt.push(this.#listensFrom);
    if (inbox && this.#isAsked) wakeAt.push(this.#nextAskAt);
    return Math.max(0, Math.min(...wakeAt) - performance.now());
  }
}
