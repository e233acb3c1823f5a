/** The mirror, as commands and reads need to know it: its freshness, and its erasure. */
import type { FetchedMessage, MessageRef } from '../mail/message.ts';
import type { FirstContacts } from '../mail/query.ts';

export interface SyncStatus {
  /** When the feed of the mailbox last grew; null when it has no events. */
  readonly lastEventAt: Date | null;
  /** When its worker last knew the full state of the mail server; null before the first time. */
  readonly currentAt: Date | null;
  /** Messages in the mirror, and in the mailbox as last reported. */
  readonly indexed: number;
  readonly total: number;
}

/** What identifies a message in its mailbox, in every folder. */
export interface KnownMessage {
  /** The Message-ID as in its header. */
  readonly rfcMessageId: string;
  /** Bytes. A copy that was delivered another way has other header lines and another time. */
  readonly size: number;
  readonly receivedAt: Date;
}

/** All mirrored folders of a mailbox, and which of them is Sent. */
export interface WholeMailAndSent {
  readonly mailboxNumber: number;
  readonly folderNumbers: readonly number[];
  /** Null when no folder has that role. */
  readonly sentNumber: number | null;
}

export interface MirrorVersions {
  /**
   * What the mirror knows, or knew in the last 30 days, of the message at its place; null when nothing, or
   * when it has no Message-ID. Throws `store_unavailable`.
   */
  knownMessage(mailboxNumber: number, ref: MessageRef): Promise<KnownMessage | null>;
  /** By mailbox id; has every requested mailbox. Throws `store_unavailable`. */
  statusOf(
    mailboxes: readonly { readonly id: string; readonly number: number }[],
  ): Promise<ReadonlyMap<string, SyncStatus>>;
  /**
   * Which messages are the first from their sender's address in these folders of a mailbox; null while the
   * mirror of one is incomplete. Messages without a sender are left out. Throws `store_unavailable`.
   */
  firstContacts(
    folders: { readonly mailboxNumber: number; readonly folderNumbers: readonly number[] },
    messages: readonly FetchedMessage[],
  ): Promise<FirstContacts | null>;
  /**
   * The addresses that wrote to the mailbox, or that a message in its Sent folder was sent to; null while its
   * mirror is incomplete. Anyone can forge mail, so this is enough for a hint to a person, not for a
   * decision. Throws `store_unavailable`.
   */
  knownCorrespondents(
    mail: WholeMailAndSent,
    addresses: readonly string[],
  ): Promise<ReadonlySet<string> | null>;
  /** Deletes the mirror of a mailbox and the record of its changes. Throws `store_unavailable`. */
  erase(mailbox: { readonly id: string; readonly number: number }): Promise<void>;
}
