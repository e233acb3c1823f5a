/**
 * Freezes a draft and hands it to the mail server, or to the people who approve it. The draft's stream is its
 * lock.
 */
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import { type HeldLease, holdLease } from '../kernel/hold-lease.ts';
import { awaitClaim, keyInProgress } from '../kernel/idempotency.ts';
import { answerInTime } from '../operations/answer-in-time.ts';
import { authorizeOperation } from '../operations/authorize-operation.ts';
import { assertDecidable } from '../operations/request-approval.ts';
import { assertNotPaused } from '../messages/prepare-operation.ts';
import { operationIdOf, OperationReply } from '../operations/operation.ts';
import { termsFor } from '../policy/approval-terms.ts';
import { decideSendPolicy } from '../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import { assertVersion, isFrozenFor } from '../drafts/decide-draft.ts';
import { approvalOfDraft } from '../drafts/draft.ts';
import { freezeDraft } from './freeze-draft.ts';
import { expectedOf, loadDraft, type LoadedDraft } from '../drafts/load-draft.ts';
import { releaseIfOver } from './release-draft.ts';
import { replaySend } from './replay-send.ts';
import { requestSend } from './request-send.ts';
import { sendContentOf } from './send-content.ts';
import { assertQuotaLeft, senderOf } from '../operations/send-quota.ts';
import { locked, type SendRequest, submitSend } from './submit-send.ts';
import { z } from 'zod';
import { defineCapability } from '../kernel/capability.ts';
import { DraftId } from '../drafts/draft-input.ts';

/**
 * Sends a draft, or requests its approval where mode or policy requires one. What the request or the draft
 * rules out is refused before anything is written, with the key still free. Throws `draft_locked`,
 * `approval_pending`, `version_conflict`, the refusals of policy, `no_eligible_approver`, `quota_exceeded`,
 * the outcome of a failed send, `outcome_unknown`, and `provider_timeout` for a send that is retried or takes
 * longer than half a minute.
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
  // Runs before the replay: the answer shows the draft, so the current rights apply to it.
  const loaded = await loadDraft(context, request.draftId, ['drafts:send']);
  const earlier = await replaySend(context, operationId);
  if (earlier !== null) return earlier;
  // Tested before the release below, which is not a change that the caller has to know of.
  assertVersion(loaded.state, expectedOf(context, request.expectedVersion));
  const found = await freedIfOver(context, loaded);
  const { id: draftId, state, revision, mailbox } = found;
  assertSendable(found, operationId);
  const policy = await askPolicy(context, found);
  const admission = authorizeOperation({
    mode: request.mode,
    policy,
    mayRequest: found.access.scopes.has('approvals:request'),
  });
  if (admission === 'preview') throw new Error('a preview is not sent');
  const draft = { id: draftId, mailboxId: mailbox.id, state, revision };
  const asked = { request, operationId, loaded: draft, policy };
  if (admission !== 'run') {
    const { request: mode } = admission;
    const terms = termsFor(mode, policy);
    // Refused before the freeze when no approver is eligible.
    assertDecidable(context, terms);
    return await leased(context, operationId, (lease) =>
      requestSend(context, { ...asked, mailbox, terms, lease }),
    );
  }
  await assertQuotaLeft(ports, senderOf(caller, mailbox.id), operationId);
  const frozen = await freezeDraft(ports, { draftId, operationId, mailbox, state });
  return await leased(context, operationId, (lease) => submitSend(context, { ...asked, frozen, lease }));
}

/** The draft, released first when its approval is over. */
export async function freedIfOver(context: Context, loaded: LoadedDraft): Promise<LoadedDraft> {
  const { ports, author } = context;
  const isFreed = await releaseIfOver(ports, author.orgId, loaded.state);
  return isFreed ? await loadDraft(context, loaded.id, []) : loaded;
}

/**
 * Runs `work` under the operation's lease. While another process holds the lease, answers as `replaySend`
 * does.
 */
async function leased(
  context: Context,
  operationId: string,
  work: (lease: HeldLease) => Promise<OperationReply>,
): Promise<OperationReply> {
  const lease = await holdLease(context.ports.leases, operationId);
  if (lease === null) {
    await awaitClaim(context.ports, operationId);
    const earlier = await replaySend(context, operationId);
    if (earlier === null) throw keyInProgress(1);
    return earlier;
  }
  try {
    return await work(lease);
  } finally {
    giveUp(context, operationId, lease);
  }
}

/** No answer waits for this: a lease that could not be released runs out. */
function giveUp({ ports }: Context, operationId: string, lease: HeldLease): void {
  lease.release().catch((error: unknown) => {
    ports.log.warn('send: lease not released', { operation_id: operationId, error: String(error) });
  });
}

/**
 * Refuses a draft that cannot be sent now, for any caller. An interrupted request of the same operation does
 * not forbid it. Throws `draft_locked`, `approval_pending`, `conflict`, `operation_unsupported`.
 */
export function assertSendable({ state, mailbox }: LoadedDraft, operationId: string | null = null): void {
  const { status } = state;
  const isOurs = operationId !== null && isFrozenFor(state, operationId);
  if (status === 'in_review' && !isOurs) {
    throw new GatewayError(
      'approval_pending',
      'An approval of this draft is open; commit or cancel it first.',
      {
        details: { approval_id: approvalOfDraft(state) },
      },
    );
  }
  if (status !== 'open' && status !== 'send_failed' && !isOurs) throw locked(status);
  assertSubmits(mailbox);
  assertNotPaused(mailbox);
}

/** Throws `operation_unsupported` for a mailbox without a submission server. */
export function assertSubmits({ smtp }: MailboxEntry): void {
  if (smtp !== null) return;
  const message = 'This mailbox has no submission server; give it one with PATCH.';
  throw new GatewayError('operation_unsupported', message);
}

/**
 * The policy decision about sending the draft as it is now. Throws `conflict` when its content was erased.
 */
export const askPolicy = async (context: Context, { state, mailbox }: LoadedDraft): Promise<PolicyDecision> =>
  decideSendPolicy(context, mailbox, await sendContentOf(context.ports, state));

/** The direct verb: never requests an approval. The draft is sent, held back by policy, or refused. */
export const sendDraftCapability = defineCapability({
  name: 'send_draft',
  title: 'Send draft',
  summary: 'Send a draft now.',
  description:
    'Send a draft as it is; the mail goes out at once and cannot be taken back. Needs an idempotency key: a repeat with the ' +
    'same key never sends twice and answers with what became of the first call. completed: the mail server took the ' +
    'message; draft.rejected names recipients it refused. approval_required: policy requires an approval first, request it with wants_to_send_draft. ' +
    'pending_commit: policy holds it back until draft.commit_at, and discard_draft ends it. provider_timeout ' +
    'with retry_at: it is retried automatically then; discard_draft ends that. provider_rejected: it was not sent, ' +
    'edit the draft and send it again. outcome_unknown: not known yet whether it was sent; do not send it again, ask ' +
    'with the same key later.',
  effect: 'write',
  access: { any: ['drafts:send'] },
  rest: { method: 'post', path: '/drafts/:draft_id/send_draft' },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  },
  idempotency: { kind: 'operation', required: () => true },
  input: z.strictObject({
    draft_id: DraftId,
    expected_version: z
      .int()
      .min(1)
      .optional()
      .describe('Refuse with version_conflict when the draft has another version.'),
  }),
  output: OperationReply,
  ifMatch: true,
  handle: (input, context) =>
    sendDraft(context, {
      capability: 'send_draft',
      draftId: input.draft_id,
      expectedVersion: input.expected_version,
      mode: 'execute',
    }),
});
