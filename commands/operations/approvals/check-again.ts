/** Everything that has to hold of a check at the moment of its commit (`contract.md` 9, last line), but for what it is about. */
import { GatewayError } from '../../kernel/errors.ts';
import type { Ports } from '../../kernel/ports.ts';
import type { PolicyDecision } from '../../policy/decide-policy.ts';
import type { OperationFact, OperationState } from '../operation.ts';
import type { Loaded } from '../../kernel/decide-and-append.ts';
import type { Invalidation } from './approval-events.ts';
import type { ApprovalState } from './approval-state.ts';
import type { Commit, Committable, CommitKind } from './commit-kind.ts';
import { type Manifest, openManifest } from './manifest.ts';
import { requesterNow } from './requester-now.ts';
import { isStricter } from './stricter-policy.ts';

/** A check at a revision of its stream, about to be committed. */
export interface Check extends Loaded<OperationState> {
  readonly commit: Commit;
  readonly approval: ApprovalState;
  readonly now: Date;
}

/** Why it can never be committed. */
export interface Invalid {
  readonly reason: Invalidation;
  readonly policy: PolicyDecision | null;
  readonly refusal: GatewayError;
}

const GONE: Readonly<Record<Invalidation, string>> = {
  draft_discarded: 'The draft was discarded.',
  grant_gone: 'Whoever asked for this may not do it any more.',
  mailbox_removed: 'The mailbox was removed.',
  manifest_mismatch: 'What was approved cannot be read as it was approved.',
  policy_stricter: 'Policy is stricter now than when this was approved.',
  requester_gone: 'Whoever asked for this is not of the organisation any more, or the token was revoked.',
  targets_gone: 'A message or a folder is not what it was when this was asked for.',
};

/** The refusal that goes with the end of a check. */
export const invalidatedBy = (reason: Invalidation): GatewayError =>
  new GatewayError('approval_invalidated', `${GONE[reason]} Nothing was done; ask for it anew.`, {
    details: { status: 'invalidated', reason },
  });

/** Manifest, requester, grant, mailbox and policy, in this order. Throws when the database is away. */
export async function checkAgain<Content extends Manifest>(
  ports: Ports,
  { commit, approval, state, revision, now }: Check,
  kind: CommitKind<Content>,
): Promise<Committable<Content> | Invalid> {
  const invalid = (reason: Invalidation, policy: PolicyDecision | null = null): Invalid => ({
    reason,
    policy,
    refusal: invalidatedBy(reason),
  });
  const manifest = await manifestOf(ports, commit, approval, kind);
  if (manifest === null) return invalid('manifest_mismatch');
  const standing = requesterNow(ports.directory.state, state, { scopes: kind.scopes(manifest), now });
  if (typeof standing === 'string') return invalid(standing);
  const { submitted } = state;
  if (submitted === null) throw new Error(`${commit.operationId} was never submitted`);
  const acting = { mailboxId: standing.mailbox.id, actor: submitted.by.type, principalId: submitted.by.id };
  const policy = kind.decide(ports, { acting, orgId: submitted.orgId ?? '', state, manifest });
  if (isStricter(policy, approval.terms)) return invalid('policy_stricter', policy);
  const started: OperationFact = {
    type: 'CommitStarted',
    data: {
      attempt: approval.attempts + 1,
      run_id: ports.leases.runId,
      content_hash: approval.requested.content_hash,
      policy: { rule_id: policy.ruleId, policy_version: policy.version },
    },
  };
  return { commit, state, approval, revision, manifest, policy, started, ...standing };
}

/** Null when it cannot be read, or is not what was approved: each vote named the hash of what it was about. */
async function manifestOf<Content extends Manifest>(
  { personal }: Ports,
  { operationId }: Commit,
  { requested, votes }: ApprovalState,
  { kind }: CommitKind<Content>,
): Promise<Content | null> {
  if (votes.some(({ content_hash }) => content_hash !== requested.content_hash)) return null;
  const text = await personal.open(requested.manifest);
  const manifest = text === null ? null : openManifest(text, requested.content_hash);
  const isOurs = manifest?.kind === kind && manifest.operation_id === operationId;
  return isOurs ? (manifest as Content) : null;
}
