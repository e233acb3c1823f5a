/** The answer to a key that was used for a change of a draft before. */
import type { Draft } from '../operations/draft-shape.ts';
import type { Context } from '../kernel/capability.ts';
import { streamOf } from '../kernel/decide-and-append.ts';
import { catalogueOf, type PastFact, readEvent } from '../values/event.ts';
import { draft } from './draft.ts';
import { DraftDiscarded, DraftEdited } from './draft-events.ts';
import { draftPayload } from './draft-payload.ts';
import { loadDraft } from './load-draft.ts';

const CHANGES = catalogueOf([DraftEdited, DraftDiscarded]);
type Change = typeof DraftEdited | typeof DraftDiscarded;

/**
 * Returns the draft as it is now; null when the claim with this id is not settled and has changed nothing, so
 * the change is still to be made. A request that was interrupted before it settled its claim left the id in
 * its event. Throws `not_found`.
 */
export async function changedBefore(
  context: Context,
  draftId: string,
  { id: claimId, settled }: { readonly id: string; readonly settled: boolean },
): Promise<Draft | null> {
  const { id, state } = await loadDraft(context, draftId, []);
  if (!settled && !(await holdsChange(context, id, claimId))) return null;
  return await draftPayload(context.ports, id, state);
}

async function holdsChange({ ports }: Context, draftId: string, claimId: string): Promise<boolean> {
  const stored = await ports.events.readStream(streamOf(draft, draftId));
  return stored.some((event) => {
    const fact = readEvent(CHANGES, event) as PastFact<Change> | null;
    return fact?.data.claim_id === claimId;
  });
}
