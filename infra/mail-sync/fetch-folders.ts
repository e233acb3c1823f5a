/** One round over the folders of a mailbox: which there are, and which are not as the copy has them. */
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

/** What one LIST said. */
export type FolderList = Awaited<ReturnType<typeof listStatuses>>;

export class FolderRounds {
  readonly #sync: MailboxSync;
  readonly #author: Author;
  /** What a list said of folders that were looked at for it: a server whose counts are wrong is not asked for ever. */
  readonly #polled = new Map<number, string>();
  /** Of the list the directory knows. */
  #digest: string | null = null;

  constructor(sync: MailboxSync, author: Author) {
    this.#sync = sync;
    this.#author = author;
  }

  /** The folders that can hold messages, INBOX first. */
  get folders(): readonly FolderRef[] {
    return this.#entries()
      .filter(({ availability = 'selectable' }) => availability === 'selectable')
      .map(({ number, path }) => ({ number, path }))
      .sort((a, b) => Number(isInbox(b)) - Number(isInbox(a)));
  }

  /** Takes a list the directory was told of already. */
  async begin({ listing }: FolderList): Promise<void> {
    this.#digest = digestOf(listing);
    await this.#forgetMissing();
  }

  /** Lists the folders and puts news into the directory; those to look at. Throws like `ImapConnection.run` and `between`. */
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

  /** Folders that are not as the copy has them, by the numbers of a list or because an own action touched them. */
  async changed({ statuses }: FolderList): Promise<readonly FolderRef[]> {
    const statusOf = new Map(statuses.map((status) => [status.path, status]));
    const { index, mailboxNumber } = this.#sync;
    const invalidated = new Set(await index.invalidated(mailboxNumber));
    const changed: FolderRef[] = [];
    for (const folder of this.folders) {
      const status = statusOf.get(folder.path);
      const mirror = await this.#sync.mirrorOf(folder);
      const said = JSON.stringify(status, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      const isNews = status && isBehind(mirror, status) && this.#polled.get(folder.number) !== said;
      if (!isNews && !invalidated.has(folder.number) && mirror !== null) continue;
      this.#polled.set(folder.number, said);
      changed.push(folder);
    }
    return changed;
  }

  /** It could not be looked at for what the last list said. */
  forgetPoll({ number }: FolderRef): void {
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

/** RFC 3501 5.1: INBOX is the one name that is the same in every case. */
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
