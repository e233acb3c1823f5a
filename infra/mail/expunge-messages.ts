/** Takes messages out of a folder for good, named by UID and no others (RFC 4315 2.1). */
import { GatewayError } from '../../commands/values/errors.ts';
import {
  type ActionTarget,
  allMissing,
  type Outcomes,
  prepareAction,
  refusedOutcome,
  settle,
} from './act-on-folder.ts';
import type { ImapConnection } from './imap-connection.ts';
import { searchUids } from './search-uids.ts';
import { inPieces, uidSet } from './uid-set.ts';

/** Throws `operation_unsupported` without UIDPLUS: a plain EXPUNGE would remove what others marked as well. */
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
  const prepared = await prepareAction(connection, target);
  if (prepared === null) return () => Promise.resolve(allMissing(target.uids));
  // One that is marked already was left so by an attempt that was cut off, or by somebody else; it is still there.
  const there = await stillThere(connection, target.uids);
  const present = target.uids.filter((uid) => there.has(uid));
  return () =>
    settle({ ...prepared, present }, async (settled) => {
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

const UIDS_PER_SEARCH = 500;

/** Marked or not: one that is only marked is not gone. */
async function stillThere(connection: ImapConnection, uids: readonly number[]): Promise<ReadonlySet<number>> {
  const still = new Set<number>();
  for (const piece of inPieces(uids, UIDS_PER_SEARCH))
    for (const uid of await searchUids(connection, { uid: uidSet(piece) })) still.add(uid);
  return still;
}
