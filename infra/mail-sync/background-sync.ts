/**
 * The work of a worker beside its watch on INBOX: polls of other folders, the initial scan, comparisons. It runs with bulk
 * priority on a connection other than the watch's, which is kept for a while once the mailbox is complete.
 */
import type { FolderRef } from '../../commands/mail/message.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { ImapConnection } from '../mail/imap-connection.ts';
import type { ImapGateway } from '../mail/imap-gateway.ts';
import { pauseAfter } from '../concurrency/backoff.ts';
import { compareFolder } from './compare-folder.ts';
import { pollInPieces } from './poll-folder.ts';
import type { MailboxSync } from './mailbox-sync.ts';
import { scanFolder } from './initial-scan.ts';
import { jittered, type SyncTimes } from './sync-times.ts';
import { isPartial } from './ingest-messages.ts';
import type { Semaphore } from '../concurrency/semaphore.ts';

/** Messages per step of the initial scan. The size adapts so that a step takes about half a second. */
const STEP = { first: 100, least: 25, most: 500, targetMs: 500 };

export interface BackgroundOptions {
  readonly sync: MailboxSync;
  readonly gateway: Pick<ImapGateway, 'withConnection'>;
  readonly times: SyncTimes;
  /** Shared by all workers of the process. */
  readonly turns: Semaphore;
  readonly folders: () => readonly FolderRef[];
  /** Every folder is complete. May throw `store_unavailable`. */
  readonly onComplete: () => Promise<void>;
  /** A folder could not be polled, whatever the list reported. */
  readonly onRefused: (folder: Pick<FolderRef, 'number'>) => void;
  /** A folder is not where the list reported it: another list is needed. */
  readonly onGone: () => void;
  /** There is nothing more to do. */
  readonly onDone: () => void;
  /** The lease is lost, a store is unavailable, or there is an internal error. */
  readonly onFailure: (error: unknown) => void;
}

/** Ends early, where possible, once `isOver` says that others come first. */
type Step = (connection: ImapConnection, isOver: () => boolean) => Promise<void>;

const ENDS_THE_WATCH: ReadonlySet<GatewayError['code']> = new Set([
  'store_unavailable',
  'mailbox_auth_failed',
]);

export class BackgroundSync {
  readonly #options: BackgroundOptions;
  /** By number: a folder may be renamed before it is polled. */
  readonly #asked = new Set<number>();
  /** Folders that the server does not open; retried after the next list. */
  readonly #closed = new Set<number>();
  /** Folders that were not where the list reported them, and for which another list was already requested. */
  readonly #missed = new Set<number>();
  /** When each folder is compared next. */
  readonly #compareAt = new Map<number, number>();
  /** Delays the next attempt when a provider refuses a second connection. */
  #failures = 0;
  #notBefore = 0;
  #running: Promise<void> | null = null;
  #isComplete = false;
  /** Numbers of folders with messages whose threads are unknown; null = not read yet. */
  #unnamed: readonly number[] | null = null;
  #size = STEP.first;
  readonly #ending = new AbortController();

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** There is nothing to poll. */
  get isIdle(): boolean {
    return this.#running === null && this.#asked.size === 0;
  }

  /** A new list of the folders was read; these are polled as soon as possible. */
  askAfterList(folders: readonly FolderRef[]): void {
    this.#closed.clear();
    this.ask(folders);
  }

  /** These are polled as soon as possible. */
  ask(folders: readonly FolderRef[]): void {
    for (const { number } of folders) this.#asked.add(number);
  }

  /** Starts working unless it already is, or there is nothing to do. */
  async start(): Promise<void> {
    if (this.#running !== null || this.#ending.signal.aborted || performance.now() < this.#notBefore) return;
    if ((await this.#next()) === null) return;
    const { onDone } = this.#options;
    this.#running ??= this.#work().then(
      () => {
        this.#running = null;
        this.#failures = 0;
        onDone();
      },
      (error: unknown) => {
        this.#running = null;
        this.#failed(error);
      },
    );
  }

  /** Resolves when the current step ends; a wait for a turn ends at once. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  /**
   * An error of the mail server alone is retried later. Any other error ends the watch too: the next watch replays what was
   * appended but did not reach the mirror, and a watch on credentials that are no longer valid must not attest anything.
   */
  #failed(error: unknown): void {
    const { onFailure, times, sync } = this.#options;
    if (!(error instanceof GatewayError) || ENDS_THE_WATCH.has(error.code)) {
      onFailure(error);
      return;
    }
    this.#failures += 1;
    this.#notBefore = performance.now() + pauseAfter(this.#failures, times.unreachable);
    const { code } = error;
    sync.ports.log.info('mailbox sync: postponed', { mailbox_id: sync.mailboxId, code });
  }

  async #work(): Promise<void> {
    const { turns, gateway, sync, times } = this.#options;
    const { signal } = this.#ending;
    const onConnection = async (connection: ImapConnection, isWanted: () => boolean): Promise<void> => {
      const until = performance.now() + times.turnMs;
      // Callers come first, then the watch if it has no other connection, then the other mailboxes. The watch starts this
      // work again.
      const isOver = (): boolean =>
        signal.aborted || isWanted() || (turns.waiting > 0 && performance.now() > until);
      for (let step = await this.#next(); step !== null && !signal.aborted; step = await this.#next()) {
        await step(connection, isOver);
        if (isOver()) return;
      }
    };
    // Not while mailboxes connect: then it is many at once, each for the first time.
    await turns.run(() => gateway.withConnection(sync.mailboxId, onConnection, this.#isComplete), signal);
  }

  /** The next step: requested folders first, then the initial scan in the order of the folders, then comparisons. */
  async #next(): Promise<Step | null> {
    const { sync, folders, onComplete } = this.#options;
    const asked = this.#firstAsked();
    if (asked !== null) return (...on) => this.#poll(asked, ...on);
    this.#unnamed ??= await sync.index.unnamed(sync.mailboxNumber);
    const [unnamed] = this.#unnamed;
    if (unnamed !== undefined) return () => this.#name(unnamed);
    const all = folders().filter(({ number }) => !this.#closed.has(number));
    for (const folder of all) {
      const mirror = await sync.mirrorOf(folder);
      if (mirror === null) return (...on) => this.#poll(folder, ...on);
      if (mirror.indexedFrom > 1) return (...on) => this.#scan(folder, ...on);
    }
    if (!this.#isComplete && all.length > 0) {
      await onComplete();
      this.#isComplete = true;
      void this.#analyze();
    }
    const due = all.find(({ number }) => this.#isDue(number));
    return due === undefined ? null : (connection) => this.#compare(connection, due);
  }

  /** Forgets those that are gone: the list that has one again decides anew. */
  #firstAsked(): FolderRef | null {
    if (this.#asked.size === 0) return null;
    const folders = this.#options.folders();
    for (const number of this.#asked) {
      const folder = folders.find((each) => each.number === number);
      if (folder !== undefined) return folder;
      this.#asked.delete(number);
      this.#options.onRefused({ number });
    }
    return null;
  }

  /** Beside the work, as it may wait for a lock; without it queries are only slower until autovacuum looks. */
  async #analyze(): Promise<void> {
    const { mailboxId: mailbox_id, index, ports } = this.#options.sync;
    try {
      await index.analyze();
    } catch (error) {
      ports.log.warn('mailbox sync: tables not analyzed', { mailbox_id, error: String(error) });
    }
  }

  /** Assigns the messages of a folder mirrored by an earlier version to their threads, in steps. */
  async #name(number: number): Promise<void> {
    const isLast = await this.#options.sync.nameSome({ number });
    if (isLast) this.#unnamed = this.#unnamed?.filter((other) => other !== number) ?? null;
  }

  async #poll(folder: FolderRef, ...[connection, isOver]: Parameters<Step>): Promise<void> {
    const { sync } = this.#options;
    this.#asked.delete(folder.number);
    try {
      const poll = (): ReturnType<typeof pollInPieces> => pollInPieces(sync, connection, folder, isOver);
      const mirror = await this.#unlessClosed(folder, poll);
      if (mirror && isPartial(mirror)) this.ask([folder]);
    } catch (error) {
      this.#asked.add(folder.number);
      throw error;
    }
  }

  async #scan(folder: FolderRef, ...on: Parameters<Step>): Promise<void> {
    const began = performance.now();
    const [connection] = on;
    const isComplete = await this.#unlessClosed(folder, () =>
      scanFolder(this.#options.sync, connection, folder, this.#size),
    );
    if (isComplete === true) await this.#fillHoles(folder, ...on);
    const took = performance.now() - began;
    this.#size =
      took > STEP.targetMs ? Math.max(STEP.least, this.#size / 2) : Math.min(STEP.most, this.#size * 2);
    this.#size = Math.floor(this.#size);
  }

  /** A mirror with fewer messages than the server counts is compared at once, not at the next due time. */
  async #fillHoles(folder: FolderRef, ...on: Parameters<Step>): Promise<void> {
    const { sync } = this.#options;
    const isShort = async (): Promise<boolean> => {
      const { indexed, total } = await sync.index.progress(sync.mailboxNumber, folder.number);
      return indexed < total;
    };
    if (!(await isShort())) return;
    // Messages may have been expunged since they were counted.
    await this.#poll(folder, ...on);
    if (await isShort()) await this.#compare(on[0], folder);
  }

  async #compare(connection: ImapConnection, folder: FolderRef): Promise<void> {
    const { sync } = this.#options;
    const { signal } = this.#ending;
    const mended = await this.#unlessClosed(folder, () => compareFolder(sync, connection, folder, signal));
    this.#planCompare(
      folder.number,
      await sync.mirrorOf(folder).then((mirror) => mirror?.highestModseq ?? null),
    );
    if (mended === null || mended === 0) return;
    sync.ports.log.warn('mailbox sync: mirror differed from the mail server, repaired', {
      mailbox_id: sync.mailboxId,
      folder: folder.number,
      messages: mended,
    });
  }

  /** Null when the folder is gone, its UIDVALIDITY changed, or it was refused: it is retried after the next list. */
  async #unlessClosed<T>(folder: FolderRef, work: () => Promise<T | null>): Promise<T | null> {
    const result = await work().catch((error: unknown) => {
      if (!(error instanceof GatewayError) || error.code !== 'provider_rejected') throw error;
      this.#noteRefusal(folder, error);
      return 'refused' as const;
    });
    if (result !== null && result !== 'refused') {
      this.#missed.delete(folder.number);
      return result;
    }
    this.#closed.add(folder.number);
    this.#options.onRefused(folder);
    // Some servers refuse a folder that was renamed. A folder that the list still names waits for the regular list.
    if (!this.#missed.has(folder.number)) {
      this.#missed.add(folder.number);
      this.#options.onGone();
    }
    return null;
  }

  #noteRefusal({ number: folder }: FolderRef, { details }: GatewayError): void {
    const { ports, mailboxId: mailbox_id } = this.#options.sync;
    ports.log.warn('mailbox sync: folder not opened', { mailbox_id, folder, code: details['server_code'] });
  }

  #isDue(number: number): boolean {
    const at = this.#compareAt.get(number);
    // A mirror that was just created or taken over counts as compared.
    if (at === undefined) this.#planCompare(number, null);
    return at !== undefined && at <= performance.now();
  }

  #planCompare(number: number, modseq: bigint | null): void {
    const { compareEveryMs, doubtEveryMs } = this.#options.times;
    this.#compareAt.set(
      number,
      performance.now() + jittered(modseq === null ? compareEveryMs : doubtEveryMs),
    );
  }
}
