/** What an operation is about to change and what it changed, so that the feed recognises it. Pure. */
import type { OwnChange } from '../ports/change-attribution.ts';
import type { Locators } from '../ports/ports.ts';
import { relocates } from './actions.ts';
import type { ActionStep, ItemResult } from '../operations/operation-events.ts';
import type { Target } from './prepare-operation.ts';

/** All changes the steps may make. */
export const intendedChanges = (
  steps: readonly ActionStep[],
  targets: readonly Target[],
): readonly OwnChange[] =>
  targets.flatMap((target) => (target.stale ? [] : steps.flatMap((step) => changesOf(step, target))));

/** The done changes, with the places the mail server returned, and those of unknown outcome. */
export function remainingChanges(
  steps: readonly ActionStep[],
  targets: readonly Target[],
  results: readonly ItemResult[],
  locators: Pick<Locators, 'openMessage'>,
): readonly OwnChange[] {
  const targetOf = new Map(targets.map((target) => [target.message_id, target]));
  return results.flatMap(({ message_id, step: index, outcome, new_message_id }): OwnChange[] => {
    const target = targetOf.get(message_id);
    const step = steps[index];
    if (!target || !step || (outcome !== 'done' && outcome !== 'unknown')) return [];
    const place = new_message_id === undefined ? null : locators.openMessage(new_message_id);
    return changesOf(step, target).map((change) =>
      change.kind === 'arrives' && place
        ? { ...change, uid: place.uid, uidValidity: place.uidValidity }
        : change,
    );
  });
}

function changesOf(step: ActionStep, { ref, message_id, rfc_message_id }: Target): OwnChange[] {
  const at = { folder: ref.folder.number, uidValidity: ref.uidValidity, uid: ref.uid };
  const moved = relocates({ type: step.action });
  if (step.action === 'expunge') return [{ kind: 'leaves', ...at, moved }];
  if (step.folder === undefined) {
    return [{ kind: 'flags', ...at, add: step.flags_add ?? [], remove: step.flags_remove ?? [] }];
  }
  // A message already in its destination is left alone.
  if (moved && step.folder === ref.folder.number) return [];
  const arrival = {
    kind: 'arrives',
    folder: step.folder,
    uidValidity: null,
    fromUid: step.target_uid_next ?? 1,
    uid: null,
    messageId: rfc_message_id,
    previousId: moved ? message_id : null,
  } as const;
  return moved ? [{ kind: 'leaves', ...at, moved }, arrival] : [arrival];
}
