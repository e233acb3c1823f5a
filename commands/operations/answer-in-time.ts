/** Bounds how long a caller waits for an operation; the work itself continues. */
import type { Context } from '../kernel/capability.ts';
import { GatewayError } from '../values/errors.ts';
import type { OperationReply } from './operation.ts';

/** Clients time out after a minute; half of it leaves time to repeat with the same key (`contract.md` 6). */
const ANSWER_WITHIN_MS = 30_000;

/**
 * Answers `provider_timeout` when the mail server is slow. The work continues and its outcome is recorded
 * under the id, which is returned even if nothing is recorded yet. The id is null for work that records
 * nothing: a preview.
 */
export async function answerInTime(
  { ports, request }: Context,
  operationId: string | null,
  work: Promise<OperationReply>,
): Promise<OperationReply> {
  const timer = new AbortController();
  const late = ports.clock.sleep(ANSWER_WITHIN_MS, timer.signal).then(() => 'late' as const);
  try {
    const first = await Promise.race([work, late]);
    if (first !== 'late') return first;
  } finally {
    timer.abort('answered');
  }
  work.catch((error: unknown) => {
    ports.log.error('operation: failed after its caller was answered', {
      operationId,
      error: String(error),
    });
  });
  throw new GatewayError('provider_timeout', slowness(operationId, request), {
    details: operationId === null ? {} : { operation_id: operationId },
    retryAfterSeconds: 5,
  });
}

function slowness(operationId: string | null, { idempotencyKey }: Context['request']): string {
  if (operationId === null) return 'The mail server is slow; nothing was changed. Try again.';
  return idempotencyKey === null
    ? 'The mail server is slow; the operation continues, and the audit trail will show its outcome.'
    : 'The mail server is slow; the operation continues: repeat the request with the same Idempotency-Key.';
}
