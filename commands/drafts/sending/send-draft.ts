/** send_draft: freezes a draft and hands it to the mail server, once. The draft's stream is the lock of it. */
import type { Context } from '../../kernel/capability.ts';
import { GatewayError } from '../../kernel/errors.ts';
import { type HeldLease, holdLease } from '../../kernel/hold-lease.ts';
import { keyInProgress } from '../../kernel/idempotency.ts';
import { answerInTime } from '../../operations/answer-in-time.ts';
import { authorizeOperation } from '../../operations/authorize-operation.ts';
import type { OperationReply } from '../../operations/operation.ts';
import { operationIdOf } from '../../operations/operation-id.ts';
import { decideSendPolicy } from '../../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../../policy/decide-policy.ts';
import { assertVersion } from '../decide-draft.ts';
import { freezeDraft } from '../freeze-draft.ts';
import { expectedVersionOf, loadDraft, type LoadedDraft } from '../load-draft.ts';
import { replaySend } from './replay-send.ts';
import { sendContentOf } from './send-content.ts';
import { assertQuotaLeft, senderOf } from './send-quota.ts';
import { locked, type SendRequest, submitSend } from './submit-send.ts';

/**
 * Sends a draft the caller may send. Whatever the request or the draft shows is refused before anything is written, the
 * key free. Throws `draft_locked`, `approval_pending`, `version_conflict`, what policy says, `quota_exceeded`, the outcome of a
 * send that failed, `outcome_unknown`, and `provider_timeout` for one that is tried again or takes longer than half a minute.
 */
export async function sendDraft(context: Context, request: SendRequest): Promise<OperationReply> {
  const operationId = operationIdOf(context);
  return await answerInTime(context, operationId, sendOrReplay(context, request, operationId));
}

async function sendOrReplay(
  context: Context,
  request: SendRequest,
  operationId: string,
): Promise<OperationReply> {
  const { ports, caller } = context;
  // Before the replay: an answer shows the draft, so today's rights decide about it too.
  const found = await loadDraft(context, request.draftId, ['drafts:send']);
  const earlier = await replaySend(context, operationId);
  if (earlier !== null) return earlier;
  const { id: draftId, state, revision, mailbox } = found;
  assertVersion(state, expectedVersionOf(context, request.expectedVersion));
  assertSendable(found);
  const policy = await askPolicy(context, found);
  if (authorizeOperation({ mode: request.mode, policy, mayRequest: true }) !== 'run') {
    throw new GatewayError('approval_required', 'A person has to approve this send first. Nothing was done.');
  }
  await assertQuotaLeft(ports, senderOf(caller, mailbox.id), operationId);
  const frozen = await freezeDraft(ports, { draftId, operationId, mailbox, state });
  const loaded = { id: draftId, mailboxId: mailbox.id, state, revision };
  const lease = await holdLease(ports.leases, operationId);
  if (lease === null) throw keyInProgress(1);
  try {
    return await submitSend(context, { request, operationId, loaded, policy, frozen, lease });
  } finally {
    giveUp(context, operationId, lease);
  }
}

/** Nobody waits for this, and no answer depends on it: a lease that could not be given up runs out by itself. */
function giveUp({ ports }: Context, operationId: string, lease: HeldLease): void {
  lease.release().catch((error: unknown) => {
    ports.log.warn('a lease could not be given up', { operation_id: operationId, error: String(error) });
  });
}

/** What forbids a send now, whoever asks. Throws `draft_locked`, `approval_pending`, `conflict`, `operation_unsupported`. */
export function assertSendable({ state: { status }, mailbox }: LoadedDraft): void {
  if (status === 'in_review') {
    throw new GatewayError('approval_pending', 'A check of this draft is open; commit or cancel it first.');
  }
  if (status !== 'open' && status !== 'send_failed') throw locked(status);
  if (mailbox.smtp === null) {
    const message = 'This mailbox has no submission server; give it one with PATCH.';
    throw new GatewayError('operation_unsupported', message);
  }
  if (mailbox.state === 'paused') {
    throw new GatewayError('conflict', 'The mailbox is paused; resume it with PATCH {"paused": false}.');
  }
}

/** What policy says of sending the draft as it stands. Throws `conflict` when its content was erased. */
export const askPolicy = async (context: Context, { state, mailbox }: LoadedDraft): Promise<PolicyDecision> =>
  decideSendPolicy(context, mailbox, await sendContentOf(context.ports.personal, state));
