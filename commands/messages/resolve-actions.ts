/** A person's resolution of message actions whose outcome is unknown. Pure. */
import { GatewayError } from '../values/errors.ts';
import type { Fact } from '../values/event.ts';
import type { Sealed } from '../values/sealed.ts';
import { commitOutcome } from '../operations/commit-kind.ts';
import type { OperationFact, OperationState } from '../operations/operation.ts';
import type { ItemResult, OperationResolved } from '../operations/operation-events.ts';

export const WORDS = ['done', 'not_done'] as const;
export type Word = (typeof WORDS)[number];

export const resolved = (outcome: Word, reason: Sealed): Fact<typeof OperationResolved> => ({
  type: 'OperationResolved',
  data: { outcome, reason },
});

export const nothingUnknown = (): GatewayError =>
  new GatewayError('conflict', 'Nothing of this operation is unknown, so there is nothing to resolve.');

/** Throws `conflict` while the operation has no outcome, and when nothing of it is unknown. */
export function unknownItems({ results }: Pick<OperationState, 'results'>): readonly ItemResult[] {
  if (results === null) {
    throw new GatewayError(
      'conflict',
      'The operation has no outcome yet; it is reconciled automatically first.',
    );
  }
  const unknown = results.filter(({ outcome }) => outcome === 'unknown');
  if (unknown.length === 0) throw nothingUnknown();
  return unknown;
}

/** Settles every unknown item. Throws what `unknownItems` throws. */
export function resolveActions(
  { results, approval }: Pick<OperationState, 'results' | 'approval'>,
  word: Word,
  { reason, now }: { readonly reason: Sealed; readonly now: Date },
): readonly OperationFact[] {
  const settled = unknownItems({ results }).map((item) => settle(item, word));
  const after = (results ?? []).map((item) => settled.find((each) => isSameItem(each, item)) ?? item);
  return [
    resolved(word, reason),
    { type: 'ActionsReconciled', data: { results: settled } },
    ...commitOutcome(approval, after, now),
  ];
}

const isSameItem = (a: ItemResult, b: ItemResult): boolean =>
  a.message_id === b.message_id && a.step === b.step;

/** Only the mail server knows where the message is now, so there is no new id. */
const settle = ({ message_id, step, action }: ItemResult, word: Word): ItemResult => ({
  message_id,
  step,
  action,
  ...(word === 'done'
    ? { outcome: 'done' as const }
    : {
        outcome: 'failed' as const,
        error: { code: 'outcome_unknown', message: 'A person found that it was not done.' },
      }),
});
