/**
 * Shared by all actions: opening the folder for writing, finding the existing messages, reporting outcomes. And the changes
 * of flags and the expunge.
 */
import type { FlagsEvent } from 'imapflow';
import { GatewayError } from '../../commands/values/errors.ts';
import type { ActionOutcome, FlagChange } from '../../commands/ports/mail-port.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ImapConnection, OpenFolder } from './imap-connection.ts';
import { refusalText } from './mail-errors.ts';
import { isDeleted } from './fetched-message.ts';
import { openIfThere } from './open-folder.ts';
import { searchUids } from './search-uids.ts';
import { inPieces, uidSet } from './uid-set.ts';

export type Outcomes = Map<number, ActionOutcome>;

/** The messages of an action: one folder at one UIDVALIDITY. */
export interface ActionTarget {
  readonly folder: FolderRef;
  readonly uidValidity: number;
  readonly uids: readonly number[];
}

export interface PreparedAction {
  readonly open: OpenFolder;
  /** UIDs that exist and are not marked for removal; all requested ones when none were fetched. */
  readonly present: readonly number[];
  readonly fetched: boolean;
  /** Outcomes of the others. */
  readonly outcomes: Outcomes;
}

export const MISSING: ActionOutcome = {
  outcome: 'failed',
  reason: 'missing',
  text: 'The message is no longer there.',
};
export const UNKNOWN: ActionOutcome = { outcome: 'unknown' };
export const rejected = (text: string): ActionOutcome => ({ outcome: 'failed', reason: 'rejected', text });

const UIDS_PER_SEARCH = 500;

/**
 * Opens the folder and finds the existing messages. Nothing has changed yet, so this may throw and be repeated. Null when
 * the folder is gone or its UIDVALIDITY changed.
 */
export async function prepareAction(
  connection: ImapConnection,
  { folder, uidValidity, uids }: ActionTarget,
): Promise<PreparedAction | null> {
  const open = await openIfThere(connection, folder.path, 'write');
  if (open?.uidValidity !== uidValidity) return null;
  const present = await presentUids(connection, uids);
  return {
    open,
    present: uids.filter((uid) => present.has(uid)),
    fetched: true,
    outcomes: allMissing(uids),
  };
}

/** As `prepareAction`, without asking the server: for a connection that answered in this folder a moment ago. */
export async function prepareWithoutLooking(
  connection: ImapConnection,
  { folder, uidValidity, uids }: ActionTarget,
): Promise<PreparedAction | null> {
  const open = await connection.reopen(folder.path);
  if (open.uidValidity !== uidValidity) return null;
  return { open, present: uids, fetched: false, outcomes: allMissing(uids) };
}

/** Those of the UIDs that are in the open folder and not marked `\Deleted`. */
export async function presentUids(
  connection: ImapConnection,
  uids: readonly number[],
): Promise<ReadonlySet<number>> {
  const present = new Set<number>();
  for (const piece of inPieces(uids, UIDS_PER_SEARCH)) {
    const found = await searchUids(connection, { uid: uidSet(piece), deleted: false });
    for (const uid of found) present.add(uid);
  }
  connection.noteAnswered(present);
  return present;
}

/** Fails every message as missing. */
export const allMissing = (uids: readonly number[]): Outcomes => new Map(uids.map((uid) => [uid, MISSING]));

/** The outcome that the code of a refused command means. */
export const refusedOutcome = (connection: ImapConnection): ActionOutcome =>
  rejected(refusalText(connection.lastRefusal));

/**
 * Runs a change of the mailbox. If the connection breaks, every message without an outcome becomes `unknown`: the server
 * may or may not have made the change. Never throws for an error of the server or the network.
 */
export async function settle(
  { present, outcomes }: Pick<PreparedAction, 'present' | 'outcomes'>,
  work: (outcomes: Outcomes) => Promise<void>,
): Promise<Outcomes> {
  const settled: Outcomes = new Map();
  try {
    await work(settled);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  for (const uid of present) outcomes.set(uid, settled.get(uid) ?? UNKNOWN);
  return outcomes;
}

/**
 * Prepares a change of flags and keywords; running the result changes the mailbox. Flags the folder does not support are
 * refused, not dropped.
 */
export async function prepareFlagChange(
  connection: ImapConnection,
  target: ActionTarget,
  change: FlagChange,
): Promise<() => Promise<Outcomes>> {
  const open = answeredJustNow(connection, target) ? connection.openForWriting(target.folder.path) : null;
  // Flags that are refused here are refused only for messages that are there.
  const isSent = open !== null && unsupportedIn(open, change).length === 0;
  const prepared = await (isSent ? prepareWithoutLooking : prepareAction)(connection, target);
  if (prepared === null) return () => Promise.resolve(allMissing(target.uids));
  return () => settle(prepared, (settled) => changeFlags(connection, { target, change }, prepared, settled));
}

/** Whether the folder is open for writing on a connection that has answered since it was lent, and knows of UIDs like these. */
export const answeredJustNow = (
  connection: ImapConnection,
  { folder, uids }: Pick<ActionTarget, 'folder' | 'uids'>,
): boolean => connection.isOpenForWriting(folder.path) && connection.knowsOf(uids);

interface FlagAction {
  readonly target: ActionTarget;
  readonly change: FlagChange;
}

const FLAGGED: ActionOutcome = { outcome: 'done', newUid: null, newUidValidity: null };

async function changeFlags(
  connection: ImapConnection,
  action: FlagAction,
  prepared: PreparedAction,
  settled: Outcomes,
): Promise<void> {
  const { present, fetched } = prepared;
  if (present.length === 0) return;
  const stored = await storeFlags(connection, action.change, prepared);
  if (fetched) for (const uid of present) settled.set(uid, stored.result);
  else await settleUnseen(connection, action, { ...stored, uids: present }, settled);
}

/** STORE accepts UIDs of messages that are gone, and tells the flags of those it changed (RFC 9051 6.4.6, 6.4.9). */
async function settleUnseen(
  connection: ImapConnection,
  action: FlagAction,
  { uids, result, told }: Stored & { readonly uids: readonly number[] },
  settled: Outcomes,
): Promise<void> {
  const isDone = result.outcome === 'done';
  for (const uid of uids) if (isDone && told.has(uid)) settled.set(uid, result);
  const untold = uids.filter((uid) => !settled.has(uid));
  if (untold.length === 0) return;
  const there = await prepareAction(connection, { ...action.target, uids: untold });
  if (there === null) return;
  const { present } = there;
  for (const uid of untold) if (!present.includes(uid)) settled.set(uid, MISSING);
  // A server may refuse because of those that are gone (RFC 2180 4.2).
  if (!isDone && present.length < untold.length) await changeFlags(connection, action, there, settled);
  else for (const uid of present) settled.set(uid, result);
}

interface Stored {
  readonly result: ActionOutcome;
  /** Messages whose flags the server told, but for those marked for removal. */
  readonly told: ReadonlySet<number>;
}

const unsupportedIn = (open: OpenFolder, { add }: FlagChange): readonly string[] =>
  add.filter((flag) => !keeps(open, flag));

async function storeFlags(
  connection: ImapConnection,
  change: FlagChange,
  { open, present }: PreparedAction,
): Promise<Stored> {
  const { add, remove } = change;
  const told = new Set<number>();
  const unsupported = unsupportedIn(open, change);
  if (unsupported.length > 0)
    return { result: rejected(`This folder does not keep ${unsupported.join(', ')}.`), told };
  const set = uidSet(present);
  const note = (event: FlagsEvent): void => {
    if (event.uid === undefined) return;
    if (isDeleted(event)) told.delete(event.uid);
    else told.add(event.uid);
  };
  const isDone = await connection.write(async (client) => {
    client.on('flags', note);
    try {
      return (
        (add.length === 0 || (await client.messageFlagsAdd(set, [...add], { uid: true }))) &&
        (remove.length === 0 || (await client.messageFlagsRemove(set, [...remove], { uid: true })))
      );
    } finally {
      client.off('flags', note);
    }
  });
  return { result: isDone ? FLAGGED : refusedOutcome(connection), told };
}

/** imapflow drops flags that PERMANENTFLAGS does not name, and would report success. */
const keeps = ({ permanentFlags }: OpenFolder, flag: string): boolean =>
  permanentFlags === null || [...permanentFlags].some((own) => own.toLowerCase() === flag.toLowerCase());

/**
 * Prepares the permanent removal of messages, named by UID (RFC 4315 2.1). Throws `operation_unsupported` without UIDPLUS:
 * a plain EXPUNGE would also remove messages that other clients marked.
 */
export async function prepareExpunge(
  connection: ImapConnection,
  target: ActionTarget,
): Promise<() => Promise<Outcomes>> {
  if (!connection.capabilities.uidPlus) {
    throw new GatewayError(
      'operation_unsupported',
      'This mail server cannot remove single messages (no UIDPLUS).',
      {
        details: { missing: ['UIDPLUS'] },
      },
    );
  }
  const { folder, uidValidity, uids } = target;
  const outcomes = allMissing(uids);
  const open = await openIfThere(connection, folder.path, 'write');
  if (open?.uidValidity !== uidValidity) return () => Promise.resolve(outcomes);
  // A message that is already marked was left so by an interrupted attempt or another client; it still exists.
  const there = await stillThere(connection, uids);
  const present = uids.filter((uid) => there.has(uid));
  return () =>
    settle({ present, outcomes }, async (settled) => {
      if (present.length === 0) return;
      const set = uidSet(present);
      // With UIDPLUS this is STORE \Deleted and UID EXPUNGE of exactly these.
      const isDone = await connection.write((client) => client.messageDelete(set, { uid: true }));
      const refusal = refusedOutcome(connection);
      if (!isDone)
        await connection.write((client) => client.messageFlagsRemove(set, ['\\Deleted'], { uid: true }));
      const still = await stillThere(connection, present);
      for (const uid of present) {
        const gone = { outcome: 'done', newUid: null, newUidValidity: null } as const;
        settled.set(uid, still.has(uid) ? refusal : gone);
      }
    });
}

/** Marked or not: a message that is only marked is not gone. */
async function stillThere(connection: ImapConnection, uids: readonly number[]): Promise<ReadonlySet<number>> {
  const still = new Set<number>();
  for (const piece of inPieces(uids, UIDS_PER_SEARCH))
    for (const uid of await searchUids(connection, { uid: uidSet(piece) })) still.add(uid);
  return still;
}
