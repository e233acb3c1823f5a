/** What policy and mode make of a request (`contract.md` 6 and 8), independent of the deciders. */
import { APPROVER_ROLES, type PolicyEffect } from '../../../commands/values/policy-document.ts';
import { PEOPLE, type PersonId } from '../worlds/approval-world.ts';

type Require = Extract<PolicyEffect, { decision: 'require' }>;

const require = (terms: Partial<Require> = {}): Require => ({
  decision: 'require',
  quorum: 1,
  approver_role: 'approver',
  exclude_owner: false,
  decision_ttl: 86_400,
  commit_ttl: 3_600,
  ...terms,
});

export const POLICIES = {
  one: require(),
  two: require({ quorum: 2 }),
  three: require({ quorum: 3, exclude_owner: true }),
  admins: require({ approver_role: 'admin' }),
  nobody: require({ quorum: 3, approver_role: 'admin' }),
  four_eyes: require({ exclude_owner: true }),
  at_once: require({ auto_commit: true }),
  by_hand: require({ auto_commit: false }),
  held_back: require({ undo_seconds: 300 }),
  held_at_once: require({ auto_commit: true, undo_seconds: 120 }),
  hurried: require({ decision_ttl: 60, commit_ttl: 60 }),
  allow: { decision: 'allow' },
  allow_held: { decision: 'allow', undo_seconds: 120 },
  deny: { decision: 'deny' },
} as const satisfies Readonly<Record<string, PolicyEffect>>;
export type PolicyName = keyof typeof POLICIES;

/** The next behaviour of the mail server or the submission server. */
export type Course = 'fine' | 'away' | 'never' | 'lost_undone' | 'lost_done';

/** Everything an approval depends on. */
export interface ModelWorld {
  now: number;
  policy: PolicyName;
  /** `narrow`: only reading, requesting, committing and cancelling are left. */
  grant: 'whole' | 'narrow' | 'none';
  isRemoved: boolean;
  course: Course;
}

export type Kind = 'archive' | 'expunge' | 'send';
export const MODES = ['execute_or_request_approval', 'execute', 'request_approval', 'prepare'] as const;
export type Mode = (typeof MODES)[number];

export interface Terms {
  readonly quorum: number;
  readonly approver_role: (typeof APPROVER_ROLES)[number];
  readonly exclude_owner: boolean;
  readonly decision_ttl: number;
  readonly commit_ttl: number;
  readonly auto_commit: boolean;
  readonly undo_seconds: number;
}

/** `contract.md` 8, for a rule with only "require". */
const SILENT = require();

/** `contract.md` 8: where the rule is silent the mode decides; what policy allows requires no approval. */
function termsOf(mode: Mode, policy: PolicyName): Terms {
  const effect: PolicyEffect = POLICIES[policy];
  const rule = effect.decision === 'require' ? effect : SILENT;
  const { approver_role, exclude_owner, decision_ttl, commit_ttl } = rule;
  const isFree = effect.decision === 'allow' && mode !== 'request_approval';
  return {
    quorum: isFree ? 0 : rule.quorum,
    approver_role,
    exclude_owner,
    decision_ttl,
    commit_ttl,
    auto_commit: rule.auto_commit ?? mode === 'execute_or_request_approval',
    undo_seconds: effect.decision === 'deny' ? 0 : (effect.undo_seconds ?? 0),
  };
}

/** Negative for a role that decides nothing. */
export const rankOf = (role: string): number => APPROVER_ROLES.findIndex((each) => each === role);

const eligible = ({ approver_role, exclude_owner }: Terms): readonly PersonId[] =>
  (Object.keys(PEOPLE) as PersonId[]).filter(
    (id) => rankOf(PEOPLE[id]) >= rankOf(approver_role) && !(exclude_owner && id === 'usr_olga'),
  );

/** The policy now requires more than the votes of the approval gave. */
export function isStricterNow(policy: PolicyName, terms: Terms): boolean {
  const now: PolicyEffect = POLICIES[policy];
  if (now.decision !== 'require') return now.decision === 'deny';
  return (
    now.quorum > terms.quorum ||
    rankOf(now.approver_role) > rankOf(terms.approver_role) ||
    (now.exclude_owner && !terms.exclude_owner)
  );
}

/** `refused`: the possible error codes. */
export type Admission = { readonly refused: readonly string[] } | { readonly approval: Terms } | 'runs';

/** The table of `contract.md` 6; an unavailable mail server affects every request that must read messages. */
export function admit(world: ModelWorld, kind: Kind, mode: Mode): Admission {
  if (world.grant === 'none' || world.isRemoved) return { refused: ['not_found', 'insufficient_scope'] };
  if (world.grant === 'narrow') return { refused: ['insufficient_scope'] };
  const admission = admitByPolicy(world.policy, kind, mode);
  if (world.course !== 'away' || kind === 'send') return admission;
  const refused = admission !== 'runs' && 'refused' in admission ? admission.refused : [];
  return { refused: [...refused, 'mailbox_unavailable'] };
}

function admitByPolicy(policy: PolicyName, kind: Kind, mode: Mode): Admission {
  const { decision }: PolicyEffect = POLICIES[policy];
  if (decision === 'deny') return { refused: ['policy_denied'] };
  const needsApproval = decision === 'require' || kind === 'expunge';
  if (mode === 'execute' && needsApproval) return { refused: ['approval_required'] };
  if (!needsApproval && mode !== 'request_approval' && mode !== 'prepare') return 'runs';
  const asked = kind === 'expunge' && mode === 'execute_or_request_approval' ? 'prepare' : mode;
  const terms = termsOf(asked, policy);
  return eligible(terms).length < terms.quorum ? { refused: ['no_eligible_approver'] } : { approval: terms };
}
