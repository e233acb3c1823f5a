/**
 * The life of one connection: it runs IDLE on INBOX, polls INBOX where the server does not report in time, and polls the
 * other folders in rounds. Changes are written to feed and mirror; when the connection ends, the worker opens another.
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
import { OwnMoves } from './own-moves.ts';
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
  /** The current life of the process (`worker-heartbeat.ts`). */
  readonly life: () => Life | null;
}

/** After two rounds without a renewal, answers from the mirror of INBOX are checked against the server again. */
const ATTESTED_ROUNDS = 2;

/**
 * How long INBOX may go unwatched: between two polls while a round uses the connection, and between the starts of two IDLEs
 * if the server ends them all at once.
 */
const UNHEARD_MS = 1_000;

export class MailboxWatch {
  readonly #options: WatchOptions;
  #inboxChanged = true;
  /** The server reported a change in INBOX that no poll has fetched yet. */
  #inboxReported = false;
  #nextRoundAt: number;
  #listensFrom = 0;
  /** When the last IDLE began. */
  #listenedAt = 0;
  /** When the last poll of INBOX began, and when the mirror of INBOX was last attested. */
  #polledAt = 0;
  #attestedAt = 0;
  #nextAskAt = 0;
  #isAttesting = false;
  readonly #ownMoves: OwnMoves;
  #failure: Error | null = null;
  /** The life of the process before INBOX was last found equal to the mirror. */
  #life: Life | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
    const inbox = { number: () => this.#inbox?.number ?? null, isReported: () => this.#isAttesting };
    this.#ownMoves = new OwnMoves(options.sync, inbox);
    // At a random point of the first interval, so that mailboxes connected together do not poll together.
    this.#nextRoundAt = performance.now() + Math.random() * options.times.roundEveryMs;
    this.#subscribe();
  }

  /** Everything the server has reported is in feed and mirror. */
  get isCurrent(): boolean {
    return !this.#isInboxBehind && this.#ownMoves.isCurrent && this.#options.background.isIdle;
  }

  get #isInboxBehind(): boolean {
    return this.#inboxChanged || this.#inboxReported || this.#ownMoves.haveUnexplained;
  }

  /** These folders changed; an empty list means all. */
  markChanged(numbers: readonly number[]): void {
    const { rounds, background, wake } = this.#options;
    const changed = rounds.folders.filter(({ number }) => numbers.length === 0 || numbers.includes(number));
    if (changed.some(isInbox)) this.#inboxChanged = true;
    background.ask(changed.filter((folder) => !isInbox(folder)));
    for (const folder of changed) this.#ownMoves.needsLook(folder);
    wake.ring();
  }

  /** Own changes of these folders are settled. */
  markSettled(numbers: readonly number[]): void {
    this.#ownMoves.markSettled(numbers);
    this.#options.wake.ring();
  }

  /** Requests a list of the folders soon. */
  askForRound(): void {
    this.#nextRoundAt = Math.min(this.#nextRoundAt, performance.now() + this.#options.times.lookEveryMs);
    this.#options.wake.ring();
  }

  /** The background work failed: the connection is given up too. */
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
      const unclear = await this.#ownMoves.take();
      if (unclear.length > 0) this.markChanged(unclear);
      if (this.#isAttesting && !this.#isReportedInTime) await this.endAttesting();
      if (inbox && this.#isInboxBehind) await this.#pollInbox(inbox);
      else if (performance.now() >= this.#nextRoundAt) await this.#round(signal);
      else if (lease.isWanted) await this.#giveWay();
      else if (inbox && this.#isAsked && performance.now() >= this.#nextAskAt) await this.#ask(inbox);
      else await this.#pause(inbox, signal);
    }
  }

  /** Sleeps until there is something to do; meanwhile the server may report changes of INBOX, and background work runs. */
  async #pause(inbox: FolderRef | undefined, signal: AbortSignal): Promise<void> {
    const { background, wake } = this.#options;
    const { clock } = this.#options.sync.ports;
    const [pausedAt, { arrivals }] = [clock.elapsedMs(), this.#connection];
    await background.start();
    await this.#listen(inbox);
    await wake.sleep(this.#pauseMs(inbox));
    await this.#gather(this.#connection.arrivals > arrivals ? pausedAt : clock.elapsedMs(), signal);
    const { canListen, isListening } = this.#connection;
    if (inbox && canListen && !isListening) this.#inboxChanged = true;
  }

  /** New mail only waits directly after other work: it is what a caller, or a webhook, waits for. */
  async #gather(fromMs: number, signal: AbortSignal): Promise<void> {
    const { sync, times } = this.#options;
    const leftMs = fromMs + times.gatherMs - sync.ports.clock.elapsedMs();
    if (leftMs > 0) await sync.ports.clock.sleep(leftMs, signal);
  }

  get #connection(): ImapConnection {
    return this.#options.lease.connection;
  }

  get #inbox(): FolderRef | undefined {
    return this.#options.rounds.folders.find(isInbox);
  }

  /** The server itself reports changes of INBOX, soon enough to answer from the mirror. */
  get #isReportedInTime(): boolean {
    const { verdicts, server } = this.#options;
    return this.#connection.canListen && verdicts.verdictOf(server) !== 'late';
  }

  /** INBOX is polled, even during an IDLE. */
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
      (vanished) => {
        const listenedMs = performance.now() - this.#listenedAt;
        if (connection.isListening) verdicts.reportedUnasked(server, sync.mailboxId, listenedMs);
        if (vanished === null || !this.#ownMoves.noteVanished(vanished)) this.#inboxReported = true;
        wake.ring();
      },
      () => {
        wake.ring();
      },
    );
  }

  /** Others use the only connection; another poll fetches what happened in INBOX meanwhile. */
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
      this.#ownMoves.forgetVanished();
    };
    // News that the server reports on this request is part of this poll.
    if ((await pollFolder(sync, this.#connection, inbox, seen)) === null) {
      seen();
      this.askForRound();
    }
    this.#life = life;
  }

  /** Asks only whether there is news; a poll fetches it. */
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
    // A server that takes longer than the interval must leave room for other work.
    this.#nextAskAt = Math.max(askedAt + times.pollEveryMs, performance.now() + times.lookEveryMs);
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { sync, rounds, background, times, verdicts, server } = this.#options;
    this.#nextRoundAt = performance.now() + jittered(times.roundEveryMs);
    if (this.#inbox && this.#ownMoves.needsLook(this.#inbox)) await this.#pollInbox(this.#inbox);
    const life = this.#options.life();
    const changed = await rounds.poll(this.#connection, () => this.#breakOff(signal));
    // A round that takes longer than the interval must leave room for other work.
    this.#nextRoundAt = Math.max(this.#nextRoundAt, performance.now() + times.lookEveryMs);
    if (changed.some(isInbox)) {
      // UIDVALIDITY changed under an open folder: only opening it again shows that.
      this.#connection.doubtFolder();
      verdicts.missed(server);
      this.#inboxChanged = true;
    }
    background.askAfterList(changed.filter((folder) => !isInbox(folder)));
    // With news of INBOX, the poll of INBOX has to come first.
    if (!this.#isInboxBehind) {
      this.#life = life;
      await this.#attest(this.#inbox);
    }
    sync.assertHeld();
  }

  /** Runs between two commands of a round, which may be long: callers, INBOX and background work do not wait for its end. */
  async #breakOff(signal: AbortSignal): Promise<ImapConnection> {
    if (signal.aborted) throw new MailboxLost(this.#options.sync.mailboxId);
    this.#assertWell();
    const { lease, background } = this.#options;
    await background.start();
    if (lease.isWanted) await this.#giveWay();
    // Not every server reports new mail while it answers for another folder.
    const isDue = performance.now() - this.#polledAt >= UNHEARD_MS;
    if (this.#inbox && (this.#isInboxBehind || isDue)) await this.#pollInbox(this.#inbox);
    return this.#connection;
  }

  /** At once, not when the client decides: mail that follows soon after must be reported as fast. */
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

  /** The server no longer reports changes of INBOX: answers from its mirror are checked against the server again. */
  async endAttesting(): Promise<void> {
    if (this.#inbox) await this.#options.sync.attest(this.#inbox, { forMs: 0, life: null });
    this.#isAttesting = false;
    if (this.#inbox && this.#ownMoves.needsLook(this.#inbox)) this.#inboxChanged = true;
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
    const wakeAt = [this.#nextRoundAt, this.#ownMoves.nextAt];
    if (inbox && canListen && !isListening) wakeAt.push(this.#listensFrom);
    if (inbox && this.#isAsked) wakeAt.push(this.#nextAskAt);
    return Math.max(0, Math.min(...wakeAt) - performance.now());
  }
}
