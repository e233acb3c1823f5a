/** What a cut-off operation tells of its items when nobody can look. */
import type { CutOff } from './interrupted-operation.ts';
import { staleResult } from './look-up-items.ts';
import type { ItemResult, StoredTarget } from '../operations/operation-events.ts';

interface Untold extends Pick<CutOff, 'steps'> {
  readonly targets: readonly StoredTarget[];
}

/** One result per message and step, in the order of the targets: unknown, but for messages that were gone before it began. */
export const untoldItems = ({ targets, steps }: Untold): readonly ItemResult[] =>
  targets.flatMap((target) =>
    steps.map((step, index) =>
      target.stale
        ? staleResult(target, step, index)
        : { message_id: target.message_id, step: index, action: step.action, outcome: 'unknown' },
    ),
  );
