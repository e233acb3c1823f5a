/** The items of an approval that ended before anything of it ran. */
import type { PersonalData } from '../ports/ports.ts';
import type { OperationReply, OperationState } from './operation.ts';
import { openManifest } from './manifest.ts';

/**
 * Every action on every message as `skipped`, in the order of the manifest; none of a send, and none once the mailbox was
 * erased. Throws `store_unavailable`.
 */
export async function skippedItems(
  { personal }: { readonly personal: Pick<PersonalData, 'open'> },
  { approval }: Pick<OperationState, 'approval'>,
): Promise<OperationReply['results']> {
  if (approval?.requested.draft_id !== null) return [];
  const text = await personal.open(approval.requested.manifest);
  const manifest = text === null ? null : openManifest(text, approval.requested.content_hash);
  if (manifest?.kind !== 'message_actions') return [];
  return manifest.items.flatMap(({ message_id }) =>
    manifest.steps.map(({ action }) => ({ message_id, action, outcome: 'skipped' as const })),
  );
}
