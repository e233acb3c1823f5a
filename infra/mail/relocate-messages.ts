/** Move and copy (`contract.md` 4): MOVE where offered, else COPY + \Deleted + UID EXPUNGE, never a plain EXPUNGE. */
import type { CopyResponseObject } from 'imapflow';
import { GatewayError } from '../../commands/values/errors.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import {
  type ActionTarget,
  allMissing,
  answeredJustNow,
  MISSING,
  type Outcomes,
  prepareAction,
  type PreparedAction,
  prepareWithoutLooking,
  presentUids,
  refusedOutcome,
  rejected,
  settle,
} from './act-on-folder.ts';
import { fetchMessages } from './fetch-messages.ts';
import type { ImapConnection } from './imap-connection.ts';
import { uidSet } from './uid-set.ts';
import { openIfThere } from './open-folder.ts';
import { searchUids } from './search-uids.ts';

/** A prepared relocation; running it changes the mailbox. */
export type Prepared = () => Promise<Outcomes>;

/** Throws `operation_unsupported` when the server can neither move nor expunge single messages. */
export async function prepareMove(
  connection: ImapConnection,
  target: ActionTarget,
  destination: FolderRef,
): Promise<Prepared> {
  const { move, uidPlus } = connection.capabilities;
  if (!move && !uidPlus) {
    throw new GatewayError(
      'operation_unsupported',
      'This mail server can neither move messages nor remove single ones (no MOVE, no UIDPLUS); copy them instead.',
      { details: { missing: ['MOVE', 'UIDPLUS'] } },
    );
  }
  // If the target may already have the message, COPYUID may omit it.
  const tells = move && connection.tellsMoves && !connection.capabilities.sharesMessages;
  const willTell = tells && answeredJustNow(connection, target);
  const prepared = await (willTell ? prepareWithoutLooking : prepareAction)(connection, target);
  if (prepared === null) return () => Promise.resolve(allMissing(target.uids));
  const work = move ? moveWithMove : moveWithCopy;
  const ids = await providerIdsOf(connection, prepared.present);
  return () =>
    settle(prepared, async (settled) => {
      await work(connection, prepared, destination, settled);
      await findShared(connection, destination, ids, settled);
    });
}

/** As `prepareMove`; every server can copy. */
export async function prepareCopy(
  connection: ImapConnection,
  target: ActionTarget,
  destination: FolderRef,
): Promise<Prepared> {
  const prepared = await prepareAction(connection, target);
  if (prepared === null) return () => Promise.resolve(allMissing(target.uids));
  const ids = await providerIdsOf(connection, prepared.present);
  return () =>
    settle(prepared, async (settled) => {
      await copyPresent(connection, prepared, destination, settled);
      await findShared(connection, destination, ids, settled);
    });
}

async function moveWithMove(
  connection: ImapConnection,
  { present, fetched }: PreparedAction,
  destination: FolderRef,
  settled: Outcomes,
): Promise<void> {
  if (present.length === 0) return;
  const result = await connection.write((client) =>
    client.messageMove(uidSet(present), destination.path, { uid: true }),
  );
  const refusal = refusedOutcome(connection);
  if (result) noteArrivals(result, present, settled);
  connection.tellsMoves ||= settled.size > 0;
  const open = present.filter((uid) => !settled.has(uid));
  if (open.length === 0) return;
  // Without COPYUID, or after a refusal half-way, only a fetch shows which messages still exist.
  const still = await presentUids(connection, open);
  for (const uid of open) {
    if (still.has(uid)) settled.set(uid, refusal);
    else if (result && !fetched) settled.set(uid, MISSING);
    else if (result && (result.uidMap === undefined || connection.capabilities.sharesMessages)) {
      settled.set(uid, { outcome: 'done', newUid: null, newUidValidity: null });
    }
  }
}

async function moveWithCopy(
  connection: ImapConnection,
  prepared: PreparedAction,
  destination: FolderRef,
  settled: Outcomes,
): Promise<void> {
  const copied: Outcomes = new Map();
  await copyPresent(connection, prepared, destination, copied);
  const arrived = [...copied].flatMap(([uid, { outcome }]) => (outcome === 'done' ? [uid] : []));
  for (const [uid, outcome] of copied) if (outcome.outcome !== 'done') settled.set(uid, outcome);
  if (arrived.length === 0) return;
  const set = uidSet(arrived);
  // With UIDPLUS this is STORE \Deleted and UID EXPUNGE of exactly these.
  const removed = await connection.write((client) => client.messageDelete(set, { uid: true }));
  if (!removed)
    await connection.write((client) => client.messageFlagsRemove(set, ['\\Deleted'], { uid: true }));
  const still = removed ? new Set<number>() : await presentUids(connection, arrived);
  for (const uid of arrived) {
    const outcome = copied.get(uid);
    if (still.has(uid)) settled.set(uid, rejected('A copy arrived, but the original could not be removed.'));
    else if (outcome) settled.set(uid, outcome);
  }
}

async function copyPresent(
  connection: ImapConnection,
  { present }: PreparedAction,
  destination: FolderRef,
  settled: Outcomes,
): Promise<void> {
  if (present.length === 0) return;
  const result = await connection.write((client) =>
    client.messageCopy(uidSet(present), destination.path, { uid: true }),
  );
  if (!result) {
    // RFC 3501 6.4.7: a refused COPY leaves the target as it was.
    for (const uid of present) settled.set(uid, refusedOutcome(connection));
    return;
  }
  noteArrivals(result, present, settled);
  const isReported = result.uidMap !== undefined && !connection.capabilities.sharesMessages;
  for (const uid of present.filter((each) => !settled.has(each))) {
    // COPYUID names every message copied: a missing one vanished in between.
    settled.set(uid, isReported ? MISSING : { outcome: 'done', newUid: null, newUidValidity: null });
  }
}

/** COPYUID (RFC 4315) gives the new place of each message. */
function noteArrivals(result: CopyResponseObject, present: readonly number[], settled: Outcomes): void {
  const { uidMap, uidValidity } = result;
  for (const uid of present) {
    const newUid = uidMap?.get(uid);
    if (newUid !== undefined) {
      const newUidValidity = uidValidity === undefined ? null : Number(uidValidity);
      settled.set(uid, { outcome: 'done', newUid, newUidValidity });
    }
  }
}

/**
 * The new places of messages on a server that may have had them in the target already: places that COPYUID (RFC 4315) omits
 * are found by the provider's id, which a message keeps in every folder (X-GM-MSGID).
 */
export type ProviderIds = ReadonlyMap<number, string>;

/** The provider's ids of messages in the open folder, by UID; none where no message is in two folders. Throws like `run`. */
export async function providerIdsOf(
  connection: ImapConnection,
  uids: readonly number[],
): Promise<ProviderIds> {
  if (!connection.capabilities.sharesMessages || uids.length === 0) return new Map();
  const fetched = await fetchMessages(connection, uids, {});
  return new Map(
    fetched.flatMap(({ uid, emailId }): [number, string][] =>
      emailId === undefined ? [] : [[uid, emailId]],
    ),
  );
}

/** Adds the missing new places of messages that are done. Throws like `run`; existing outcomes stay. */
export async function findShared(
  connection: ImapConnection,
  destination: FolderRef,
  ids: ProviderIds,
  settled: Outcomes,
): Promise<void> {
  const unplaced = [...ids].filter(([uid]) => {
    const outcome = settled.get(uid);
    return outcome?.outcome === 'done' && outcome.newUid === null;
  });
  const open = unplaced.length === 0 ? null : await openIfThere(connection, destination.path, 'read');
  if (open === null) return;
  for (const [uid, emailId] of unplaced) {
    const [newUid] = await searchUids(connection, { emailId });
    if (newUid !== undefined) settled.set(uid, { outcome: 'done', newUid, newUidValidity: open.uidValidity });
  }
}
