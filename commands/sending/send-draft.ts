/**
 * Freezes a draft and hands it to the mail server, or to the people who approve it. The draft's stream is its
 * lock.
 */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import { type HeldLease, holdLease } from '../kernel/hold-lease.ts';
import { awaitClaim } from '../kernel/idempotency.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { termsFor } from '../policy/approval-terms.ts';
import { decideSendPolicy } from '../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import { answerInTime } from '../operations/answer-in-time.ts';
import { authorizeOperation, type Mode } from '../operations/authorize-operation.ts';
import { operation, operationIdOf, OperationReply } from '../operations/operation.ts';
import { assertDecidable } from '../operations/request-approval.ts';
import { assertQuotaLeft, senderOf } from '../operations/send-quota.ts';
import { assertNotPaused } from '../messages/prepare-operation.ts';
import { assertVersion, isFrozenFor } from '../drafts/decide-draft.ts';
import { approvalOfDraft } from '../drafts/draft.ts';
import { DraftId, ExpectedVersion } from '../drafts/draft-input.ts';
import { draftPayload, draftPreview } from '../drafts/draft-payload.ts';
import { releaseIfOver } from '../drafts/end-review.ts';
import { assertScopes, expectedOf, loadDraft, type LoadedDraft } from '../drafts/load-draft.ts';
import { freezeDraft, prepareMessage } from './freeze-draft.ts';
import { requestSend } from './request-send.ts';
import { sendContentOf } from './send-content.ts';
import { replayFirst, replaySend } from './send-reply.ts';
import { locked, type SendRequest, submitSend } from './submit-send.ts';

/**
 * Sends a draft, or requests its approval where mode or policy requires one. What the request or the draft
 * rules out is refused before anything is written, with the key still free. Throws `draft_locked`,
 * `approval_pending`, `version_conflict`, the refusals of policy, `no_eligible_approver`, `quota_exceeded`,
 * the outcome of a failed send, `outcome_unknown`, and `provider_timeout` for a send that is retried or takes
 * longer than half a minute.
 */
export async function sendDraft(
  context: Context,
  { mode, ...asked }: Omit<SendRequest, 'mode'> & { readonly mode: Mode },
): Promise<OperationReply> {
  if (mode === 'preview') return await previewSend(context, asked);
  const operationId = operationIdOf(context);
  return await answerInTime(context, operationId, sendOrReplay(context, { mode, ...asked }, operationId));
}

async function sendOrReplay(
  context: Context,
  request: SendRequest,
  operationId: string,
): Promise<OperationReply> {
  const { ports, caller } = context;
  const { present, earlier } = await loadBoth(context, request, operationId);
  if (earlier !== null) return earlier;
  const found = await freedFor(context, request, present);
  const { id: draftId, state, revision, mailbox } = found;
  assertSendable(found, operationId);
  const message = prepareMessage(ports, found);
  const policy = await askPolicy(context, found);
  const admission = authorizeOperation({
    mode: request.mode,
    policy,
    mayRequest: found.access.scopes.has('approvals:request'),
  });
  if (admission === 'preview') throw new Error('a preview is not sent');
  const loaded = { id: draftId, mailboxId: mailbox.id, state, revision };
  const asked = { request, operationId, loaded, policy };
  if (admission !== 'run') {
    const terms = termsFor(admission.request, policy);
    // Refused before the freeze when no approver is eligible.
    assertDecidable(context, terms);
    return await leased(context, operationId, (lease) =>
      requestSend(context, { ...asked, mailbox, message, terms, lease }),
    );
  }
  const hours = await assertQuotaLeft(ports, senderOf(caller, mailbox.id), operationId);
  const freezing = freezeDraft(ports, { draftId, operationId, mailbox, state, message });
  // Without the lease nobody awaits it; the message then expires.
  freezing.catch(() => undefined);
  return await leased(context, operationId, async (lease) =>
    submitSend(context, { ...asked, hours, frozen: await freezing, lease }),
  );
}

interface DraftAndOperation {
  readonly present: LoadedDraft;
  /** The answer to a repeat; null when nothing was written under the key. */
  readonly earlier: OperationReply | null;
}

/**
 * Reads the draft and the operation of this key side by side. A draft that this key may have changed is never judged without
 * the operation that changed it: that is then read after it. Rights are judged before the replay, since the answer shows the
 * draft.
 */
async function loadBoth(
  context: Context,
  request: SendRequest,
  operationId: string,
): Promise<DraftAndOperation> {
  const beside = loadAggregate(context.ports.events, operation, operationId);
  // Without the draft nobody awaits it.
  beside.catch(() => undefined);
  const present = await loadNamed(context, request);
  const claimed = isUntouchedBy(present.state, operationId) ? await beside : undefined;
  return { present, earlier: await replaySend(context, operationId, claimed) };
}

/** True when nothing in the stream of a draft that can be sent is of this operation. */
const isUntouchedBy = ({ status, send, sendEnds }: LoadedDraft['state'], operationId: string): boolean =>
  (status === 'open' || status === 'send_failed') &&
  send?.frozen.operation_id !== operationId &&
  sendEnds[operationId] === undefined;

type NamedDraft = Pick<SendRequest, 'draftId' | 'mailboxId' | 'expectedVersion'>;

/** Nothing is sent; the draft of the reply is the current one. */
async function previewSend(context: Context, named: NamedDraft): Promise<OperationReply> {
  const loaded = await freedFor(context, named, await loadNamed(context, named));
  assertSendable(loaded);
  const draft = await draftPayload(context.ports, loaded.id, loaded.state);
  return draftPreview(await askPolicy(context, loaded), draft, draft.content_hash);
}

/** Throws `not_found`, also for a draft of another mailbox than the one named, and `insufficient_scope`. */
async function loadNamed(context: Context, { draftId, mailboxId }: NamedDraft): Promise<LoadedDraft> {
  const loaded = await loadDraft(context, draftId, []);
  if (mailboxId !== undefined && mailboxId !== loaded.mailbox.id) throw notFound('draft');
  assertScopes(loaded.access, ['drafts:send']);
  return loaded;
}

/** The draft, released first when its approval is over. Throws `version_conflict`. */
async function freedFor(
  context: Context,
  { expectedVersion }: NamedDraft,
  loaded: LoadedDraft,
): Promise<LoadedDraft> {
  const { ports, author } = context;
  // Tested before the release, which is not a change that the caller has to know of.
  assertVersion(loaded.state, expectedOf(context, expectedVersion));
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
    return await replayFirst(context, operationId);
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
function assertSendable({ state, mailbox }: LoadedDraft, operationId: string | null = null): void {
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
const askPolicy = async (context: Context, { state, mailbox }: LoadedDraft): Promise<PolicyDecision> =>
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
    expected_version: ExpectedVersion,
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

/** wants_to_send_draft: fixes the exact message now; it is sent when it is committed. */
export const wantsToSendDraft = defineCapability({
  name: 'wants_to_send_draft',
  title: 'Prepare to send a draft',
  summary: 'Prepare a draft to be sent.',
  description:
    'Fix a draft exactly as it would be sent; nothing goes out yet. awaiting_approval: a person has to approve first, ' +
    'monitor_approval waits for it. pending_commit: approval_commit sends it. Editing the draft ends the approval, so ask ' +
    'again afterwards. approval_pending: this draft already has an open approval. policy_denied: not permitted, do not retry.',
  effect: 'write',
  access: { any: ['drafts:send'] },
  rest: { method: 'post', path: '/drafts/:draft_id/wants_to_send_draft' },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  },
  idempotency: { kind: 'operation', required: () => true },
  input: z.strictObject({
    draft_id: DraftId,
    reason: z.string().min(1).max(1_000).optional().describe('The reason, shown to the approvers.'),
    expected_version: ExpectedVersion,
  }),
  output: OperationReply,
  ifMatch: true,
  handle: ({ draft_id, reason, expected_version }, context) =>
    sendDraft(context, {
      capability: 'wants_to_send_draft',
      draftId: draft_id,
      expectedVersion: expected_version,
      mode: 'prepare',
      reason,
    }),
});
