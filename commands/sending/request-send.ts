/**
 * A send that people decide: the draft is frozen first, then the operation's first append requests the
 * approval.
 */
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import { type HeldLease, LeaseLost } from '../kernel/hold-lease.ts';
import { keyInProgress } from '../kernel/idempotency.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import type { ApprovalTerms } from '../operations/approval-events.ts';
import type { ApprovalWarning } from '../operations/approval-warnings.ts';
import type { SendManifest } from '../operations/manifest.ts';
import { requestApproval } from '../operations/request-approval.ts';
import type { OperationReply } from '../operations/operation.ts';
import { approvalIdOf } from '../operations/operation.ts';
import { domainsOf } from '../policy/address-look.ts';
import { policyInForce } from '../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import { isFrozenFor } from '../drafts/decide-draft.ts';
import { draft, type DraftState } from '../drafts/draft.ts';
import { draftPayload } from '../drafts/draft-payload.ts';
import { freezeMessage } from './freeze-draft.ts';
import { asLoaded, type DraftAtRevision, freezeForApproval } from './begin-send.ts';
import { buildSendManifest, type FrozenMessage, shownBody } from './build-send-manifest.ts';
import { firstContactWarnings, skippedWarnings } from './recipient-warnings.ts';
import { sendWarnings } from './send-warnings.ts';
import { replaySend } from './replay-send.ts';
import { locked, type SendRequest } from './submit-send.ts';

/** A send that nothing forbids and that needs an approval. */
export interface AskedSend {
  readonly request: SendRequest;
  readonly operationId: string;
  readonly loaded: DraftAtRevision;
  readonly mailbox: MailboxEntry;
  readonly policy: PolicyDecision;
  readonly terms: ApprovalTerms;
  readonly lease: HeldLease;
}

/**
 * Freezes the message and requests its approval. After a crash between the two appends, a repeat of the
 * request freezes it again; without a repeat the draft is released. Throws `version_conflict`, `draft_locked`
 * and `approval_pending` when the draft changed meanwhile, and what freezing throws.
 */
export async function requestSend(context: Context, asked: AskedSend): Promise<OperationReply> {
  try {
    return await freezeAndAsk(context, asked);
  } catch (error) {
    // The lease ran out, so another process may have resumed the send.
    if (error instanceof LeaseLost) throw keyInProgress(1);
    throw error;
  }
}

async function freezeAndAsk(context: Context, asked: AskedSend): Promise<OperationReply> {
  const { ports, author } = context;
  const { operationId, loaded, mailbox, lease } = asked;
  const { id: draftId, state: before } = loaded;
  const message = await freezeMessage(ports, { draftId, operationId, mailbox, state: before });
  const frozen = { ...message.frozen, approval_id: approvalIdOf(operationId) };
  const of = { mailboxId: mailbox.id, draftId };
  const manifest = buildSendManifest(ports.ids.newNonce(), of, message);
  // Everything that can be refused runs before the draft is frozen.
  const warnings = await warningsOf(context, mailbox, manifest, message);
  const state = await asLoaded(ports, { loaded, lease }, (now) =>
    freezeForApproval(ports, author, now, frozen),
  );
  if (state === null) {
    await ports.content.erase([frozen.mime_id]);
    throw await changedMeanwhile(context, draftId);
  }
  if (isFrozenFor(before, operationId)) await ports.content.erase([before.send?.frozen.mime_id ?? '']);
  lease.assertHeld();
  const reply = await requestApproval(context, {
    operationId,
    submitted: submittedOf(asked),
    policy: asked.policy,
    terms: asked.terms,
    manifest,
    warnings,
    action: 'send_draft',
    cardinality: null,
    supersedes: state.supersededApproval,
  });
  if (reply !== null) return { ...reply, draft: await draftPayload(ports, draftId, state) };
  const earlier = await replaySend(context, operationId);
  if (earlier === null) throw keyInProgress(1);
  return earlier;
}

/** The warnings about the message as it would be sent. */
async function warningsOf(
  { ports }: Context,
  mailbox: MailboxEntry,
  manifest: SendManifest,
  { composed: { message, envelope }, smtp }: FrozenMessage,
): Promise<readonly ApprovalWarning[]> {
  const content = {
    mailboxAddress: mailbox.email,
    domains: domainsOf(policyInForce(ports.directory.state, mailbox.orgId), mailbox.email),
    body: await shownBody(ports.markup, message),
  };
  return [
    ...sendWarnings(manifest, content),
    ...skippedWarnings(envelope.skipped_recipients),
    ...(await firstContactWarnings(ports, mailbox, smtp.to)),
  ];
}

const submittedOf = ({ request: { capability, mode, reason }, loaded: { mailboxId } }: AskedSend) => ({
  mailboxId,
  capability,
  mode,
  reason,
  targets: [],
});

/** Nothing was written for this request, so its key stays free. */
async function changedMeanwhile({ ports }: Context, draftId: string): Promise<GatewayError> {
  const { state } = await loadAggregate(ports.events, draft, draftId);
  return refusalOf(state);
}

function refusalOf({ status }: DraftState): GatewayError {
  if (status === 'in_review') {
    return new GatewayError('approval_pending', 'Another request for the approval of this draft came first.');
  }
  return status === 'open' || status === 'send_failed'
    ? new GatewayError('version_conflict', 'The draft was edited meanwhile; read it again.')
    : locked(status);
}
