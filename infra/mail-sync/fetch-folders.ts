/** One round over the folders of a mailbox: which exist, and which differ from the mirror. */
import { createHash } from 'node:crypto';
import type { FolderEntry } from '../../commands/ports/directory.ts';
import type { FolderListing } from '../../commands/ports/mail-port.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import type { Author } from '../../commands/kernel/decide-and-append.ts';
import { registerFolders } from '../../commands/mailboxes/register-folders.ts';
import type { ImapConnection } from '../mail/imap-connection.ts';
import { type Between, type FolderStatus, listStatuses } from '../mail/imap-list.ts';
import type { FolderMirror } from '../mail-index/folder-mirror.ts';
import type { MailboxSync } from './mailbox-sync.ts';

/** The result of one LIST. */
export type FolderList = Awaited<ReturnType<typeof listStatuses>>;

export class FolderRounds {
  readonly #sync: MailboxSync;
  readonly #author: Author;
  readonly #onReplaced: () => void;
  /** The status of a folder when it was last polled: a server with wrong counts is not polled forever. */
  readonly #polled = new Map<number, string>();
  /** UIDVALIDITY as last listed: a folder may be replaced before it has a mirror. */
  readonly #validities = new Map<number, number>();
  /** Digest of the list that the directory has. */
  #digest: string | null = null;

  /** `onReplaced`: a folder's UIDVALIDITY changed. A server may go on with the former one where it is open (Dovecot does). */
  constructor(sync: MailboxSync, author: Author, onReplaced: () => void) {
    this.#sync = sync;
    this.#author = author;
    this.#onReplaced = onReplaced;
  }

  /** The folders that can hold messages, INBOX first. */
  get folders(): readonly FolderRef[] {
    return this.#entries()
      .filter(({ availability = 'selectable' }) => availability === 'selectable')
      .map(({ number, path }) => ({ number, path }))
      .sort((a, b) => Number(isInbox(b)) - Number(isInbox(a)));
  }

  /** Starts from a list that the directory already has. */
  async begin({ listing }: FolderList): Promise<void> {
    this.#digest = digestOf(listing);
    await this.#forgetMissing();
  }

  /**
   * Lists the folders and registers changes in the directory; returns those to poll. Throws like `ImapConnection.run` and
   * `between`.
   */
  async poll(connection: ImapConnection, between: Between): Promise<readonly FolderRef[]> {
    const list = await listStatuses(connection, between);
    const digest = digestOf(list.listing);
    if (digest !== this.#digest) {
      await registerFolders(this.#sync.ports, this.#author, this.#sync.mailboxId, list.listing);
      await this.#forgetMissing();
      this.#digest = digest;
    }
    return await this.changed(list);
  }

  /** Folders that differ from the mirror, by the counts of a list or because the gateway changed them itself. */
  async changed({ statuses }: FolderList): Promise<readonly FolderRef[]> {
    const statusOf = new Map(statuses.map((status) => [status.path, status]));
    const { index, mailboxNumber } = this.#sync;
    const invalidated = new Set(await index.invalidated(mailboxNumber));
    const changed: FolderRef[] = [];
    for (const folder of this.folders) {
      const status = statusOf.get(folder.path);
      const mirror = await this.#sync.mirrorOf(folder);
      if (status) this.#noteValidity(folder, status);
      const said = JSON.stringify(status, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      const isNews = status && isBehind(mirror, status) && this.#polled.get(folder.number) !== said;
      if (!isNews && !invalidated.has(folder.number) && mirror !== null) continue;
      if (status && mirror && mirror.uidValidity !== status.uidValidity) this.#onReplaced();
      this.#polled.set(folder.number, said);
      changed.push(folder);
    }
    return changed;
  }

  #noteValidity({ number }: FolderRef, { uidValidity }: FolderStatus): void {
    const known = this.#validities.get(number);
    this.#validities.set(number, uidValidity);
    if (known !== undefined && known !== uidValidity) this.#onReplaced();
  }

  /** The folder could not be polled; the next list decides again. */
  forgetPoll({ number }: Pick<FolderRef, 'number'>): void {
    this.#polled.delete(number);
  }

  async #forgetMissing(): Promise<void> {
    const gone = this.#entries().filter(({ availability = 'selectable' }) => availability !== 'selectable');
    if (gone.length > 0) await this.#sync.inTurn(() => this.#sync.forget(gone));
  }

  #entries(): readonly FolderEntry[] {
    const { ports, mailboxId } = this.#sync;
    return ports.directory.state.mailboxes.get(mailboxId)?.folders ?? [];
  }
}

/** RFC 3501 5.1: INBOX is the only name that is case-insensitive. */
export const isInbox = ({ path }: Pick<FolderRef, 'path'>): boolean => path.toUpperCase() === 'INBOX';

const isBehind = (mirror: FolderMirror | null, status: FolderStatus): boolean =>
  mirror?.uidValidity !== status.uidValidity ||
  mirror.uidNext < status.uidNext ||
  mirror.total !== status.messages ||
  (status.highestModseq !== null && mirror.highestModseq !== status.highestModseq);

const digestOf = (listing: readonly FolderListing[]): string => {
  const facts = listing.map(({ path, selectable, role, roleSource, uidValidity }) => [
    path,
    selectable,
    role,
    roleSource,
    uidValidity,
  ]);
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url');
};
