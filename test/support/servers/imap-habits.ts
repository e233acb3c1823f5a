/** What mail servers do differently from each other, as scripted servers do it. */
export interface ImapHabits {
  readonly greeting: string;
  readonly capabilities: string;
  readonly delimiter: '/' | '.';
  /** Of the personal namespace (RFC 2342). */
  readonly prefix: string;
  /** Whether SELECT and EXAMINE tell UIDNEXT. */
  readonly selectTellsUidNext: boolean;
  /** True for searches (`UID *`) that find nothing although there is something. */
  readonly searchLeavesOut: (keys: string) => boolean;
  readonly refusesAppendToExamined: boolean;
  /** An IDLE tells what happened so often; 0 = at once. */
  readonly idleTellsEveryMs: number;
  /** Logins of one account at once, and what the next one is told. */
  readonly mostConnections: number;
  readonly tooManyConnections: string;
  /**
   * A folder that was renamed or removed while it is open: shown as it was, refused in every command, or whatever lies under its
   * path by then is shown instead.
   */
  readonly goneWhileOpen: 'kept' | 'refused' | 'by path';
  /** What is handed out of a piece of the message that is the `nth` of those asked for together, from 0; null = NIL. */
  readonly gives: (piece: Buffer, nth: number) => Buffer | null;
}

export const GMAIL_LIKE: ImapHabits = {
  greeting: 'ready',
  capabilities:
    'IMAP4rev1 UNSELECT IDLE NAMESPACE ID CHILDREN X-GM-EXT-1 UIDPLUS ENABLE MOVE CONDSTORE LITERAL+ SPECIAL-USE',
  delimiter: '/',
  prefix: '',
  selectTellsUidNext: true,
  searchLeavesOut: () => false,
  refusesAppendToExamined: false,
  idleTellsEveryMs: 0,
  mostConnections: Infinity,
  tooManyConnections: '[LIMIT] Maximum number of connections from user+IP exceeded',
  goneWhileOpen: 'kept',
  gives: (piece) => piece,
};

/** A server with all that the gateway makes use of. */
export const MODERN: ImapHabits = {
  ...GMAIL_LIKE,
  capabilities:
    'IMAP4rev1 UNSELECT IDLE NAMESPACE ID CHILDREN UIDPLUS ENABLE MOVE CONDSTORE LITERAL+ SPECIAL-USE',
};

/** Cyrus IMAP: a renamed or removed folder is gone for who has it open, too. */
export const CYRUS_LIKE: ImapHabits = { ...MODERN, goneWhileOpen: 'refused' };

/** Courier-IMAP as Debian sets it up (`IMAP_ENHANCEDIDLE=0`). */
export const COURIER_LIKE: ImapHabits = {
  ...GMAIL_LIKE,
  greeting:
    'Courier-IMAP ready. Copyright 1998-2022 Double Precision, Inc.  See COPYING for distribution information.',
  capabilities:
    'IMAP4rev1 UIDPLUS CHILDREN NAMESPACE THREAD=ORDEREDSUBJECT THREAD=REFERENCES SORT QUOTA IDLE ACL ACL2=UNION',
  delimiter: '.',
  prefix: 'INBOX.',
  selectTellsUidNext: false,
  searchLeavesOut: (keys) => keys === 'UID *' || keys === '*',
  refusesAppendToExamined: true,
  idleTellsEveryMs: 60_000,
  goneWhileOpen: 'by path',
};
