/** What the gateway keeps of mailboxes' messages, as commands and reads need to know it: how far it is, and its end. */
import type { FetchedMessage, MessageRef } from '../mail/message.ts';

export interface SyncStatus {
  /** When the feed of the mailbox last grew; null when it never did. */
  readonly lastEventAt: Date | null;
  /** When its worker last knew all that the mail server had to tell; null before the first time. */
  readonly currentAt: Date | null;
  /** Messages in the index, and in the mailbox as last told. */
  readonly indexed: number;
  readonly total: number;
}

/** What tells a message from all others of its mailbox, wherever it lies. */
export interface KnownMessage {
  /** Its Message-ID, as the header has it. */
  readonly rfcMessageId: string;
  /** Bytes. A copy that came another way has other header lines and another time. */
  readonly size: number;
  readonly receivedAt: Date;
}

/** All of a mailbox that is indexed, and which of it is Sent. */
export interface WholeMailAndSent {
  readonly mailboxNumber: number;
  readonly folderNumbers: readonly number[];
  /** Null when no folder has that role. */
  readonly sentNumber: number | null;
}

export interface MirrorVersions {
  /**
   * What the index knows, or knew in the last 30 days, of the message at its place; null when nothing, or when it has no
   * Message-ID. Throws `store_unavailable`.
   */
  knownMessage(mailboxNumber: number, ref: MessageRef): Promise<KnownMessage | null>;
  /** By mailbox id; each asked one is there. Throws `store_unavailable`. */
  statusOf(
    mailboxes: readonly { readonly id: string; readonly number: number }[],
  ): Promise<ReadonlyMap<string, SyncStatus>>;
  /**
   * Which messages are the first that came from their sender's address, in all folders of a mailbox; null while its index is
   * not complete, and without those that name no sender. Throws `store_unavailable`.
   */
  firstContacts(
    folders: { readonly mailboxNumber: number; readonly folderNumbers: readonly number[] },
    messages: readonly FetchedMessage[],
  ): Promise<ReadonlyMap<FetchedMessage, boolean> | null>;
  /**
   * Those of the addresses that wrote to the mailbox, or were written to in a message of its Sent folder; null while its index is
   * not complete. Mail says so, and anybody can write a mail: enough for a hint to a person, not for a decision. Throws `store_unavailable`.
   */
  knownCorrespondents(
    mail: WholeMailAndSent,
    addresses: readonly string[],
  ): Promise<ReadonlySet<string> | null>;
  /** Deletes the index rows of a mailbox and what is known of its changes. Throws `store_unavailable`. */
  erase(mailbox: { readonly id: string; readonly number: number }): Promise<void>;
}
