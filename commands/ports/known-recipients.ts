/** Whom a mailbox wrote to, as the gateway itself knows it: what a policy can rest on. */

export interface Contacts {
  /**
   * Those of the addresses that the gateway sent a mail to from the mailbox, taken by the mail server. What lies in folders says nothing
   * here: whoever writes to a mailbox puts it there, and whoever may move messages chooses the folder. Throws `store_unavailable`.
   */
  writtenTo(mailboxId: string, addresses: readonly string[]): Promise<ReadonlySet<string>>;
}
