/** The state of a worker for one mailbox, while its lease is held. */
import type { FeedEvent } from '../../commands/feed/feed-events.ts';
import type { Fact } from '../../commands/values/event.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ImapConnection } from '../mail/imap-connection.ts';
import type {
  FolderKey,
  FolderMirror,
  FolderUpdate,
  MailIndex,
  Attestation,
  MovedMessages,
} from '../mail-index/folder-mirror.ts';
import type { FeedWriter } from './feed-writer.ts';
import { type MailboxLease, MailboxLost } from './mailbox-leases.ts';

/** A fact that is appended once per folder and UIDVALIDITY. */
export type FolderFact = Exclude<Fact<FeedEvent>, { readonly type: 'MailboxChangesObserved' }>;

const nameOf = ({ type, data }: FolderFact): string =>
  `${type}/${String(data.folder)}/${String(data.uid_validity)}`;

export interface MailboxSyncOptions {
  readonly ports: Ports;
  readonly index: MailIndex;
  readonly feed: FeedWriter;
  readonly lease: MailboxLease;
  readonly mailboxNumber: number;
}

/** A poll of an open folder: the connection it was opened on, and the state of the mirror. */
export interface FolderAt {
  readonly sync: MailboxSync;
  readonly connection: ImapConnection;
  readonly folder: FolderRef;
  readonly mirror: FolderMirror;
}

export class MailboxSync {
  readonly ports: Ports;
  readonly index: MailIndex;
  readonly feed: FeedWriter;
  readonly mailboxId: string;
  readonly mailboxNumber: number;
  readonly #lease: MailboxLease;
  /**
   * Facts about whole folders that were appended and did not reach the mirror (`replay-feed-tail.ts`): they are not
   * appended again.
   */
  readonly #appended = new Map<string, Position>();
  readonly #mirrors = new Map<number, FolderMirror>();
  /** Folders that a poll in several turns is not over with. */
  readonly unfinished = new Set<number>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ ports, index, feed, lease, mailboxNumber }: MailboxSyncOptions) {
    this.ports = ports;
    this.index = index;
    this.feed = feed;
    this.mailboxId = lease.mailboxId;
    this.mailboxNumber = mailboxNumber;
    this.#lease = lease;
  }

  keyOf({ number }: Pick<FolderRef, 'number'>): FolderKey {
    return { mailboxNumber: this.mailboxNumber, folderNumber: number };
  }

  /**
   * Runs one step at a time over all connections of the mailbox: what a step reads of the mirror stays true until it has
   * written, and at most one append is not in the mirror yet.
   */
  inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(step, step);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** With every connection the worker reads the mirror again, in case the database lost what it had confirmed. */
  readAgain(): void {
    this.#mirrors.clear();
  }

  /** The folder's mirror as this worker, its only writer, left it. Null before the first poll. */
  async mirrorOf(folder: FolderRef): Promise<FolderMirror | null> {
    const known = this.#mirrors.get(folder.number);
    if (known) return known;
    const stored = await this.index.folder(this.keyOf(folder));
    if (stored) this.#mirrors.set(folder.number, stored);
    return stored;
  }

  /** How often the mirror was invalidated so far; read this before a poll. */
  async invalidationsOf(folder: FolderRef): Promise<number> {
    return (await this.index.folder(this.keyOf(folder)))?.invalidations ?? 0;
  }

  /** Writes a step to the mirror. Throws `MailboxLost` or `FencedOff` when another worker may hold the mailbox. */
  async apply(
    folder: FolderRef,
    update: Partial<FolderUpdate> & Pick<FolderUpdate, 'mirror'>,
  ): Promise<FolderMirror> {
    this.assertHeld();
    const whole = { reset: false, added: [], flags: [], removedUids: [], ...this.keyOf(folder), ...update };
    await this.index.apply(this.mailboxId, this.#lease.fence, whole);
    this.#mirrors.set(folder.number, update.mirror);
    return update.mirror;
  }

  /** Moves messages between mirrored folders. Throws as `apply`. */
  async applyMoves(moved: Omit<MovedMessages, 'mailboxNumber'>): Promise<void> {
    this.assertHeld();
    const { mailboxNumber } = this;
    await this.index.move(this.mailboxId, this.#lease.fence, { ...moved, mailboxNumber });
    for (const { folderNumber, uidNext, total, invalidations } of moved.folders) {
      const known = this.#mirrors.get(folderNumber);
      if (!known) continue;
      const feedPosition = moved.feedPosition ?? known.feedPosition;
      this.#mirrors.set(folderNumber, { ...known, uidNext, total, invalidations, feedPosition });
    }
  }

  /** Assigns some messages of an older mirror to their threads; true when there are no more. Throws as `apply`. */
  nameSome(folder: Pick<FolderRef, 'number'>): Promise<boolean> {
    return this.inTurn(() => {
      this.assertHeld();
      return this.index.nameSome(this.mailboxId, this.#lease.fence, this.keyOf(folder));
    });
  }

  /** Removes folders that are gone from the mirror. Throws as `apply`. */
  async forget(folders: readonly Pick<FolderRef, 'number'>[]): Promise<void> {
    this.assertHeld();
    await this.index.forget(
      this.mailboxId,
      this.#lease.fence,
      folders.map((folder) => this.keyOf(folder)),
    );
    for (const { number } of folders) this.#mirrors.delete(number);
  }

  /** Attests that the server reports changes of the folder at once. Throws as `apply`. */
  async attest(folder: FolderRef, attestation: Attestation): Promise<void> {
    await this.index.attest(this.mailboxId, this.#lease.fence, this.keyOf(folder), attestation);
  }

  /** Records a fact about a folder that is already in the feed. */
  noteAppended(fact: FolderFact, position: Position): void {
    this.#appended.set(nameOf(fact), position);
  }

  /** Appends a fact about a folder unless it is already in the feed; returns its position. Throws as `FeedWriter.append`. */
  async appendOnce(fact: FolderFact): Promise<Position> {
    return this.#appended.get(nameOf(fact)) ?? (await this.feed.append([fact]));
  }

  assertHeld(): void {
    if (!this.#lease.isHeld()) throw new MailboxLost(this.mailboxId);
  }
}
