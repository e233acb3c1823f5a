/** What an approval asks for, in words of this page; never with anything from a mail. */

/** @type {Readonly<Record<string, string>>} by the action of the approval */
export const ASKS = {
  move: 'to move messages',
  copy: 'to copy messages',
  trash: 'to put messages in the trash',
  spam: 'to mark messages as spam',
  not_spam: 'to take messages out of spam',
  archive: 'to archive messages',
  set_flags: 'to change the flags of messages',
  expunge: 'to delete messages permanently',
  message_actions: 'for several actions on messages',
  send_draft: 'to send a message',
};
