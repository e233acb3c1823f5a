/** Turns a request into an approval: fixes what would happen and writes only that, in the first append. */
import type { Context } from '../kernel/capability.ts';
import type { Sealed } from '../values/sealed.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import { appendFirst, decidedFact, type Submitted, submittedFact } from './authorize-operation.ts';
import type { OperationFact, OperationReply } from './operation.ts';
import type { ApprovalTerms } from './approval-events.ts';
import { assertApprovers, personBehind } from './eligible-approvers.ts';
import { type ApprovalWarning, warningsText, worstCodes } from './approval-warnings.ts';
import { contentHashOf, type Manifest, manifestText } from './manifest.ts';
import { approvalReply } from './approval-reply.ts';

export interface ApprovalRequest {
  readonly operationId: string;
  readonly submitted: Submitted;
  readonly policy: PolicyDecision;
  readonly terms: ApprovalTerms;
  readonly manifest: Manifest;
  /** A single action's type, `message_actions` for several, `send_draft` for a send. */
  readonly action: string;
  /** How many messages the requester meant; null for a send. */
  readonly cardinality: { readonly min: number; readonly max: number } | null;
  /** The earlier approval of the same draft that this one replaces. */
  readonly supersedes: string | null;
  readonly warnings: readonly ApprovalWarning[];
}

/** Throws `no_eligible_approver`. Must run before anything is written for the approval. */
export function assertDecidable({ caller, ports }: Context, terms: ApprovalTerms): void {
  const { state } = ports.directory;
  const behindId = personBehind(state, caller.principal);
  assertApprovers(state, { orgId: caller.org.id, behindId }, terms);
}

/**
 * Writes the approval and returns its state. Null when another request used the key: its operation is the
 * answer. Throws `no_eligible_approver` before anything is written.
 */
export async function requestApproval(
  context: Context,
  request: ApprovalRequest,
): Promise<OperationReply | null> {
  const { ports } = context;
  assertDecidable(context, request.terms);
  const text = manifestText(request.manifest);
  const [submitted, manifest, warnings] = await Promise.all([
    submittedFact(context, request.submitted),
    ports.personal.seal(request.manifest.mailbox_id, text),
    ports.personal.seal(request.manifest.mailbox_id, warningsText(request.warnings)),
  ]);
  const now = ports.clock.now();
  const fixed = { manifest, warnings, contentHash: contentHashOf(text) };
  const facts = [submitted, decidedFact(request.policy), ...requestedFacts(request, fixed, now)];
  const first = await appendFirst(context, request.operationId, facts, now);
  if (first === null) return null;
  context.notePosition(first.appended.position);
  return approvalReply(request.operationId, first.state, now);
}

/** The facts of the approval; without a quorum the policy grants it at once. Pure. */
function requestedFacts(
  { terms, manifest, action, cardinality, supersedes, warnings }: ApprovalRequest,
  fixed: { readonly manifest: Sealed; readonly warnings: Sealed; readonly contentHash: string },
  now: Date,
): readonly OperationFact[] {
  const requested: OperationFact = {
    type: 'ApprovalRequested',
    data: {
      action,
      draft_id: manifest.kind === 'send_draft' ? manifest.draft_id : null,
      content_hash: fixed.contentHash,
      manifest: fixed.manifest,
      expires_at: secondsAfter(now, terms.decision_ttl),
      terms,
      cardinality,
      supersedes,
      warnings: fixed.warnings,
      warning_codes: worstCodes(warnings),
    },
  };
  if (terms.quorum > 0) return [requested];
  const commit_by = secondsAfter(now, terms.commit_ttl);
  return [requested, { type: 'ApprovalGranted', data: { by: 'policy', commit_by } }];
}

export const secondsAfter = (time: Date, seconds: number): string =>
  new Date(time.getTime() + seconds * 1_000).toISOString();
