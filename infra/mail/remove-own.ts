/** Takes messages out of a folder for good: only ones that the gateway put there itself, named by UID (RFC 4315 2.1). */
import { GatewayError } from '../../commands/kernel/errors.ts';
import {
  type ActionTarget,
  allMissing,
  type Outcomes,
  prepareAction,
  presentUids,
  refusedOutcome,
  settle,
} from './act-on-folder.ts';
import type { ImapConnection } from './imap-connection.ts';
import { uidSet } from './uid-set.ts';

/** Throws `operation_unsupported` without UIDPLUS: a plain EXPUNGE would remove what others marked as well. */
export async function prepareRemoval(
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
  const { present } = prepared;
  return () =>
    settle(prepared, async (settled) => {
      if (present.length === 0) return;
      // With UIDPLUS this is STORE \Deleted and UID EXPUNGE of exactly these.
      await connection.write((client) => client.messageDelete(uidSet(present), { uid: true }));
      const refusal = refusedOutcome(connection);
      const still = await presentUids(connection, present);
      for (const uid of present) {
        const gone = { outcome: 'done', newUid: null, newUidValidity: null } as const;
        settled.set(uid, still.has(uid) ? refusal : gone);
      }
    });
}
