/** The progress of an operation, as callers of `GET /operations` see it. */
import { type OperationState, summarise } from './operation.ts';
import type { SendOutcome, Summary } from './operation-events.ts';

/**
 * `waiting` for a decision or a commit; `running` until every item has an outcome (a send that is retried
 * later still runs), then `unknown` while one of them is, `failed` when nothing was done and something
 * failed, else `completed`; `not_run` when its approval ended before anything ran.
 */
export const OPERATION_STATES = ['waiting', 'running', 'completed', 'failed', 'unknown', 'not_run'] as const;
export type OperationProgress = (typeof OPERATION_STATES)[number];

/** The number of items per outcome; null while it runs. */
export function countsOf({ results, send }: OperationState): Summary | null {
  if (send === null) return results && summarise(results);
  return send.outcome && countsOfSend(send.outcome.outcome);
}

/** One message is one item. */
export const countsOfSend = (outcome: SendOutcome['outcome']): Summary => ({
  ...{ done: 0, failed: 0, unknown: 0 },
  [outcome]: 1,
});

export function progressOf(counts: Summary | null): OperationProgress {
  if (counts === null) return 'running';
  if (counts.unknown > 0) return 'unknown';
  return counts.done === 0 && counts.failed > 0 ? 'failed' : 'completed';
}
