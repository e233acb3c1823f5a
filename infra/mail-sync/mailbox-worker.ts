/** Serves one mailbox while its lease is held: connects, watches, and reconnects with growing pauses. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { connectMailbox, recordSynced } from '../../commands/mailboxes/connect-mailbox.ts';
import { FencedOff, type MailIndex } from '../mail-index/folder-mirror.ts';
import type { WatchLease } from '../mail/connection-pool.ts';
import type { ImapConnection } from '../mail/imap-connection.ts';
import type { ImapGateway } from '../mail/imap-gateway.ts';
import { type Between, listStatuses } from '../mail/imap-list.ts';
import { BackgroundSync } from './background-sync.ts';
import { pauseAfter } from '../concurrency/backoff.ts';
import { WakeSignal } from '../concurrency/wake-signal.ts';
import { FeedWriter } from './feed-writer.ts';
import { replayFeedTail } from './replay-feed-tail.ts';
import { forgetOldExpectations } from './postgres-change-attribution.ts';
import type { IdleVerdicts } from './idle-verdicts.ts';
import { type MailboxLease, MailboxLost, type WorkerStatus } from './mailbox-leases.ts';
import { MailboxSync } from './mailbox-sync.ts';
import { MailboxWatch } from './mailbox-watch.ts';
import { type FolderList, FolderRounds } from './fetch-folders.ts';
import type { SyncTimes } from './sync-times.ts';
import type { Semaphore } from '../concurrency/semaphore.ts';
import type { Life, WorkerHeartbeat } from './worker-heartbeat.ts';

export interface WorkerOptions {
  readonly ports: Ports;
  readonly gateway: Pick<ImapGateway, 'openWatch' | 'withConnection' | 'doubtFolders'>;
  readonly index: MailIndex;
  readonly times: SyncTimes;
  readonly heartbeat: Pick<WorkerHeartbeat, 'life'>;
  readonly verdicts: IdleVerdicts;
  /** Limits on how many mailboxes of the process connect, and work in the background, at once. */
  readonly connecting: Semaphore;
  readonly working: Semaphore;
}

export class MailboxWorker {
  readonly #options: WorkerOptions;
  readonly #lease: MailboxLease;
  readonly #sync: MailboxSync;
  readonly #wake = new WakeSignal();
  readonly #ending = new AbortController();
  #watch: MailboxWatch | null = null;
  /** Failures since a watch last stayed up for a while. */
  #failures = 0;

  /** Throws when the directory does not have the mailbox. */
  constructor(options: WorkerOptions, lease: MailboxLease) {
    const { ports, index } = options;
    const entry = ports.directory.state.mailboxes.get(lease.mailboxId);
    if (!entry) throw new Error(`mailbox ${lease.mailboxId} is unknown`);
    this.#options = options;
    this.#lease = lease;
    const feed = new FeedWriter({ ports, author: systemAuthor(ports, entry.orgId), lease });
    this.#sync = new MailboxSync({ ports, index, feed, lease, mailboxNumber: entry.number });
  }

  get status(): WorkerStatus {
    return { isCurrent: this.#watch?.isCurrent ?? false, lastEventAt: this.#sync.feed.lastEventAt };
  }

  /** These folders changed; an empty list means all. A worker that is not connected polls all of them when it connects. */
  markChanged(folders: readonly number[]): void {
    this.#watch?.markChanged(folders);
  }

  /** Own changes of these folders are settled. */
  markSettled(folders: readonly number[]): void {
    this.#watch?.markSettled(folders);
  }

  /** The worker was asked to end. */
  get isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Ends the work; `run` resolves soon after. */
  end(): void {
    this.#ending.abort();
    this.#wake.ring();
  }

  /** Resolves when the work was ended, or the lease is lost. Never throws. */
  async run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted && this.#lease.isHeld()) {
      const pauseMs = await this.#watchOnce().then(
        // The mailbox was paused or removed meanwhile: this worker is about to be ended.
        () => this.#options.times.lookEveryMs,
        (error: unknown) => this.#pauseAfter(error),
      );
      if (pauseMs === null) return;
      await this.#wake.sleep(pauseMs);
    }
  }

  /** From connecting to the end of the connection. */
  async #watchOnce(): Promise<void> {
    let lease: WatchLease | null = null;
    let background: BackgroundSync | null = null;
    let watchedSince = Infinity;
    try {
      const connected = await this.#options.connecting.run(() => this.#connect(), this.#ending.signal);
      if (connected === null) return;
      lease = connected.lease;
      if (this.#ending.signal.aborted) return;
      this.#sync.readAgain();
      const rounds = new FolderRounds(this.#sync, systemAuthor(this.#options.ports, connected.orgId), () => {
        this.#options.gateway.doubtFolders(this.#lease.mailboxId);
      });
      await rounds.begin(connected.list);
      await replayFeedTail(this.#sync, lease.connection, rounds.folders, this.#lease.currentAt);
      background = this.#backgroundFor(rounds);
      const { times, heartbeat, verdicts } = this.#options;
      const { server } = connected;
      const life = (): Life | null => heartbeat.life;
      const own = { sync: this.#sync, lease, rounds, background, wake: this.#wake };
      this.#watch = new MailboxWatch({ ...own, times, verdicts, server, life });
      background.askAfterList(await rounds.changed(connected.list));
      watchedSince = performance.now();
      await this.#watch.run(this.#ending.signal);
    } finally {
      if (performance.now() - watchedSince > this.#options.times.unreachable.firstMs) this.#failures = 0;
      // Another holder of the mailbox attests for itself, and an unavailable database answers no query.
      await this.#watch?.endAttesting().catch(() => undefined);
      this.#watch = null;
      this.#options.verdicts.leave(this.#sync.mailboxId);
      // First, because the background work may wait for it.
      lease?.release();
      await background?.end();
    }
  }

  async #connect(): Promise<{
    readonly lease: WatchLease;
    readonly list: FolderList;
    readonly orgId: string;
    readonly server: string;
  } | null> {
    const { ports, gateway } = this.#options;
    const { mailboxId } = this.#sync;
    const entry = ports.directory.state.mailboxes.get(mailboxId);
    if (entry === undefined || this.#ending.signal.aborted) return null;
    const { orgId, imap } = entry;
    const opened: { lease: WatchLease | null; list: FolderList | null } = { lease: null, list: null };
    const wait = {
      onWanted: () => {
        this.#wake.ring();
      },
      signal: this.#ending.signal,
    };
    const reported = await connectMailbox(ports, mailboxId, async () => {
      opened.lease = await gateway.openWatch(mailboxId, wait);
      const { connection } = opened.lease;
      opened.list = await listStatuses(connection, this.#unlessEnding);
      return { capabilities: this.#capabilitiesOf(connection), listing: opened.list.listing };
    }).catch((error: unknown) => {
      opened.lease?.release();
      throw error;
    });
    const { lease, list } = opened;
    if (reported.outcome === 'connected' && lease && list) {
      await forgetOldExpectations(ports.sql, mailboxId);
      return { lease, list, orgId, server: `${imap.host}:${String(imap.port)}` };
    }
    lease?.release();
    if ('error' in reported) throw reported.error;
    return null;
  }

  /** A list may take minutes where it needs a command for each folder. */
  readonly #unlessEnding: Between = async (connection) => {
    if (this.isEnding) throw new MailboxLost(this.#sync.mailboxId);
    this.#sync.assertHeld();
    return await Promise.resolve(connection);
  };

  #backgroundFor(rounds: FolderRounds): BackgroundSync {
    const { ports, gateway, times, working } = this.#options;
    return new BackgroundSync({
      sync: this.#sync,
      gateway,
      times,
      turns: working,
      folders: () => rounds.folders,
      onComplete: () => recordSynced(ports, this.#sync.mailboxId),
      onRefused: (folder) => {
        rounds.forgetPoll(folder);
      },
      onGone: () => this.#watch?.askForRound(),
      onDone: () => {
        this.#wake.ring();
      },
      onFailure: (error) => this.#watch?.fail(error),
    });
  }

  /** The server's capabilities, and what the gateway does instead of the missing ones. */
  #capabilitiesOf({ capabilities: { names, condstore, idle } }: ImapConnection): readonly string[] {
    const { compareEveryMs, pollEveryMs } = this.#options.times;
    const seconds = (ms: number): string => String(Math.ceil(ms / 1_000));
    return [
      ...names,
      ...(condstore ? [] : [`X-GATEWAY-FLAG-CHECK=${seconds(compareEveryMs)}`]),
      ...(idle ? [] : [`X-GATEWAY-POLL=${seconds(pollEveryMs)}`]),
    ];
  }

  /** How long to wait before the next attempt; null when another worker may have the mailbox. */
  #pauseAfter(error: unknown): number | null {
    const { ports, times } = this.#options;
    if (error instanceof MailboxLost || error instanceof FencedOff) return null;
    const { code = null, details = {} } = error instanceof GatewayError ? error : {};
    this.#failures += 1;
    const fields = { mailbox_id: this.#sync.mailboxId, failures: this.#failures };
    if (code === null) ports.log.error('mailbox worker: internal error', { ...fields, error: String(error) });
    else ports.log.info('mailbox worker: reconnect scheduled', { ...fields, code });
    const pauses =
      code === 'mailbox_auth_failed'
        ? times.refused
        : details['reason'] === 'login_unavailable'
          ? times.heldBack
          : times.unreachable;
    return pauseAfter(this.#failures, pauses);
  }
}
