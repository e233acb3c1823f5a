/** What every action shares: the folder opened for writing, the messages that are there, and honest outcomes. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { ActionOutcome } from '../../commands/ports/mail-port.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ImapConnection, OpenFolder } from './imap-connection.ts';
import { refusalText } from './mail-errors.ts';
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
  /** UIDs that are there and not marked for removal; when nobody looked, all that were asked for. */
  readonly present: readonly number[];
  readonly looked: boolean;
  /** What is known of the others. */
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
 * Opens the folder and sees which messages are there; nothing has changed yet, so this may throw and be repeated. Null
 * when none is there: folder gone, or made anew.
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
    looked: true,
    outcomes: allMissing(uids),
  };
}

/** As `prepareAction`, without asking the server: for a connection that has answered in this folder a moment ago. */
export async function prepareWithoutLooking(
  connection: ImapConnection,
  { folder, uidValidity, uids }: ActionTarget,
): Promise<PreparedAction | null> {
  const open = await connection.reopen(folder.path);
  if (open.uidValidity !== uidValidity) return null;
  return { open, present: uids, looked: false, outcomes: allMissing(uids) };
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

/** Every message failed because nothing of the sort is there. */
export const allMissing = (uids: readonly number[]): Outcomes => new Map(uids.map((uid) => [uid, MISSING]));

/** What a refused command's code says. */
export const refusedOutcome = (connection: ImapConnection): ActionOutcome =>
  rejected(refusalText(connection.lastRefusal));

/**
 * Runs what changes the mailbox. A connection that breaks in it leaves every message not settled `unknown`: the server
 * may or may not have done it. Never throws for what the server or the network does.
 */
export async function settle(
  { present, outcomes }: PreparedAction,
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
