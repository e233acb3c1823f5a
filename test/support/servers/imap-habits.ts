/** Differences between mail servers, as options of scripted servers. */
export interface ImapHabits {
  readonly greeting: string;
  readonly capabilities: string;
  readonly delimiter: '/' | '.';
  /** The prefix of the personal namespace (RFC 2342). */
  readonly prefix: string;
  /** Whether SELECT and EXAMINE report UIDNEXT. */
  readonly selectTellsUidNext: boolean;
  /** True for searches (`UID *`) that find nothing although there is a match. */
  readonly searchLeavesOut: (keys: string) => boolean;
  readonly refusesAppendToExamined: boolean;
  /** Interval at which an IDLE reports changes; 0 = at once. */
  readonly idleTellsEveryMs: number;
  /** Parallel logins of one account, and the answer to the next one. */
  readonly mostConnections: number;
  readonly tooManyConnections: string;
  /**
   * A folder that was renamed or removed while it is open: still shown, refused in every command, or replaced
   * by the folder that now has its path.
   */
  readonly goneWhileOpen: 'kept' | 'refused' | 'by path';
  /** True for a server that tells of every message unasked, with UID and without, before and after the answer to a FETCH. */
  readonly tellsUnasked: boolean;
  /** Called with the items of a FETCH before it is answered. */
  readonly beforeFetch: (items: string) => void;
  /** The returned part of a piece of the message, the `nth` of one request from 0; null = NIL. */
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
  tellsUnasked: false,
  beforeFetch: () => undefined,
  gives: (piece) => piece,
};

/** A server with every feature that the gateway uses. */
export const MODERN: ImapHabits = {
  ...GMAIL_LIKE,
  capabilities:
    'IMAP4rev1 UNSELECT IDLE NAMESPACE ID CHILDREN UIDPLUS ENABLE MOVE CONDSTORE LITERAL+ SPECIAL-USE',
};

/** Cyrus IMAP: a renamed or removed folder is also gone for connections that have it open. */
export const CYRUS_LIKE: ImapHabits = { ...MODERN, goneWhileOpen: 'refused' };

/** Courier-IMAP with Debian's configuration (`IMAP_ENHANCEDIDLE=0`). */
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
