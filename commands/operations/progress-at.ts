/** Where an operation stands at a moment, its check included. Pure. */
import type { OperationState } from './operation.ts';
import { countsOf, type OperationProgress, progressOf } from './operation-progress.ts';
import { isOpen, isUnrun } from './approval-status.ts';
import { statusOfCheck } from './approval-reply.ts';

/** What runs under a check has not begun, is under way, is over, or will never run. */
export function progressAt(state: OperationState, now: Date): OperationProgress {
  const status = statusOfCheck(state, now);
  if (status !== null && isOpen(status)) return 'waiting';
  return status !== null && isUnrun(status) ? 'not_run' : progressOf(countsOf(state));
}
