/** What the gateway keeps of mailboxes' messages, as commands and reads need to know it: how far it is, and its end. */

export interface SyncStatus {
  /** When the feed of the mailbox last grew; null when it never did. */
  readonly lastEventAt: Date | null;
  /** When its worker last knew all that the mail server had to tell; null before the first time. */
  readonly currentAt: Date | null;
  /** Messages in the index, and in the mailbox as last told. */
  readonly indexed: number;
  readonly total: number;
}

export interface MailCopies {
  /** By mailbox id; each asked one is there. Throws `store_unavailable`. */
  statusOf(
    mailboxes: readonly { readonly id: string; readonly number: number }[],
  ): Promise<ReadonlyMap<string, SyncStatus>>;
  /** Deletes the index rows of a mailbox and what is known of its changes. Throws `store_unavailable`. */
  erase(mailbox: { readonly id: string; readonly number: number }): Promise<void>;
}
