/** Everything that must hold of an approval at its commit (`contract.md` 9, commit), except its targets. */
import type { GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { OperationFact, OperationState } from './operation.ts';
import type { Loaded } from '../kernel/decide-and-append.ts';
import type { ApprovalTerms, Invalidation } from './approval-events.ts';
import { invalidatedBy } from './approval-reply.ts';
import type { ApprovalState } from './approval-state.ts';
import type { Commit, CommitKind, Committable } from './commit-kind.ts';
import { type Manifest, openManifest } from './manifest.ts';
import { hasLostApprover } from './eligible-approvers.ts';
import { requesterNow, type Standing } from './requester.ts';
import { APPROVER_ROLES } from '../values/policy-document.ts';

/** An approval at a revision of its stream, about to be committed. */
export interface Candidate extends Loaded<OperationState> {
  readonly commit: Commit;
  readonly approval: ApprovalState;
  readonly now: Date;
}

/** Why the approval can never be committed. */
export interface Invalid {
  readonly reason: Invalidation;
  readonly policy: PolicyDecision | null;
  readonly refusal: GatewayError;
}

/** What an approval depends on besides policy and its targets, while all of it holds. */
interface Ground<Content extends Manifest> extends Standing {
  readonly manifest: Content;
}

/** Requester, grant, mailbox, manifest, approvers: the first that is gone. Throws without the database. */
export async function groundOf<Content extends Manifest>(
  ports: Ports,
  {
    operationId,
    approval,
    state,
    now,
  }: Pick<Candidate, 'approval' | 'state' | 'now'> & Pick<Commit, 'operationId'>,
  kind: CommitKind<Content>,
): Promise<Ground<Content> | Invalidation> {
  const manifest = await manifestOf(ports, operationId, approval, kind);
  const scopes = manifest === null ? [] : kind.scopes(manifest);
  const standing = requesterNow(ports.directory.state, state, { scopes, now });
  if (typeof standing === 'string') return standing;
  if (manifest === null) return 'manifest_mismatch';
  const orgId = state.submitted?.orgId ?? '';
  return hasLostApprover(ports.directory.state, orgId, approval)
    ? 'approver_gone'
    : { manifest, ...standing };
}

/** The ground, then policy, by the rights that this process knows. Throws without the database. */
export async function revalidateApproval<Content extends Manifest>(
  ports: Ports,
  { commit, approval, state, revision, now }: Candidate,
  kind: CommitKind<Content>,
): Promise<Committable<Content> | Invalid> {
  const invalid = (reason: Invalidation, policy: PolicyDecision | null = null): Invalid => ({
    reason,
    policy,
    refusal: invalidatedBy(reason),
  });
  const ground = await groundOf(ports, { operationId: commit.operationId, approval, state, now }, kind);
  if (typeof ground === 'string') return invalid(ground);
  const { manifest, mailbox } = ground;
  const { submitted } = state;
  if (submitted === null) throw new Error(`${commit.operationId} was never submitted`);
  const acting = { mailboxId: mailbox.id, actor: submitted.by.type, principalId: submitted.by.id };
  const policy = await kind.decide(ports, { acting, orgId: submitted.orgId ?? '', state, manifest });
  if (isStricter(policy, approval.terms)) return invalid('policy_stricter', policy);
  const started: OperationFact = {
    type: 'CommitStarted',
    data: {
      attempt: (approval.attempt?.number ?? 0) + 1,
      run_id: ports.leases.runId,
      content_hash: approval.requested.content_hash,
      policy: { rule_id: policy.ruleId, policy_version: policy.version },
    },
  };
  return { commit, state, approval, revision, policy, started, ...ground };
}

/** Null when it cannot be read, or is not what was approved: each vote names the hash it was cast for. */
async function manifestOf<Content extends Manifest>(
  { personal }: Ports,
  operationId: string,
  { requested, votes }: ApprovalState,
  { kind }: CommitKind<Content>,
): Promise<Content | null> {
  if (votes.some(({ content_hash }) => content_hash !== requested.content_hash)) return null;
  const text = await personal.open(requested.manifest);
  const manifest = text === null ? null : openManifest(text, requested.content_hash);
  const isOurs = manifest?.kind === kind && manifest.operation_id === operationId;
  return isOurs ? (manifest as Content) : null;
}

/** True for a deny, and when policy now requires more approvers, a higher role or four eyes. */
export function isStricter({ decision, terms }: PolicyDecision, approved: ApprovalTerms): boolean {
  if (decision !== 'require' || terms === null) return decision === 'deny';
  const rankOf = (role: ApprovalTerms['approver_role']): number => APPROVER_ROLES.indexOf(role);
  return (
    terms.quorum > approved.quorum ||
    rankOf(terms.approver_role) > rankOf(approved.approver_role) ||
    (terms.exclude_owner && !approved.exclude_owner)
  );
}
