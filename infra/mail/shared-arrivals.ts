/**
 * Where messages went on a server that may have had them there already: what it does not tell (COPYUID, RFC 4315) is found
 * by the provider's id, which a message keeps in every folder (X-GM-MSGID).
 */
import type { FolderRef } from '../../commands/mail/message.ts';
import type { Outcomes } from './act-on-folder.ts';
import type { ImapConnection } from './imap-connection.ts';
import { openIfThere } from './open-folder.ts';
import { searchUids } from './search-uids.ts';
import { uidSet } from './uid-set.ts';

export type ProviderIds = ReadonlyMap<number, string>;

/** The provider's ids of messages in the open folder, by UID; none where no message lies in two. Throws like `run`. */
export async function providerIdsOf(
  connection: ImapConnection,
  uids: readonly number[],
): Promise<ProviderIds> {
  if (!connection.capabilities.sharesMessages || uids.length === 0) return new Map();
  const fetched = await connection.run((client) =>
    client.fetchAll(uidSet(uids), { uid: true }, { uid: true }),
  );
  return new Map(
    fetched.flatMap(({ uid, emailId }): [number, string][] =>
      emailId === undefined ? [] : [[uid, emailId]],
    ),
  );
}

/** Adds the new places of what is done and was not told. Throws like `run`; what is settled stays so. */
export async function findShared(
  connection: ImapConnection,
  destination: FolderRef,
  ids: ProviderIds,
  settled: Outcomes,
): Promise<void> {
  const untold = [...ids].filter(([uid]) => {
    const outcome = settled.get(uid);
    return outcome?.outcome === 'done' && outcome.newUid === null;
  });
  const open = untold.length === 0 ? null : await openIfThere(connection, destination.path, 'read');
  if (open === null) return;
  for (const [uid, emailId] of untold) {
    const [newUid] = await searchUids(connection, { emailId });
    if (newUid !== undefined) settled.set(uid, { outcome: 'done', newUid, newUidValidity: open.uidValidity });
  }
}
