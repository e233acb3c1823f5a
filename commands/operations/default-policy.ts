/** The built-in policy (`contract.md` 8): in force until an organisation sets its own. */
import type { ActorKind } from '../kernel/access.ts';

export type PolicyAction =
  | 'draft_create' | 'draft_reply' | 'draft_edit' | 'draft_discard' | 'send'
  | 'set_flags' | 'move' | 'copy' | 'archive' | 'spam' | 'not_spam' | 'trash' | 'expunge'; // prettier-ignore

export interface PolicyDecision {
  readonly decision: 'allow' | 'require' | 'deny';
  readonly ruleId: string;
  readonly version: number;
}

/** Version of the built-in policy; an organisation's own count from 1. */
export const BUILT_IN_VERSION = 0;

const IRREVERSIBLE: ReadonlySet<PolicyAction> = new Set(['send', 'expunge']);
const STRICTNESS = { allow: 0, require: 1, deny: 2 } as const;

/** What the built-in policy says of one action by one kind of actor. */
export function decideByDefault(actor: ActorKind, action: PolicyAction): PolicyDecision {
  if (actor === 'person') return { decision: 'allow', ruleId: 'default.person', version: BUILT_IN_VERSION };
  return IRREVERSIBLE.has(action)
    ? { decision: 'require', ruleId: 'default.irreversible', version: BUILT_IN_VERSION }
    : { decision: 'allow', ruleId: 'default.reversible', version: BUILT_IN_VERSION };
}

/** Over several actions the strictest result holds. Expects at least one decision. */
export const strictest = (decisions: readonly PolicyDecision[]): PolicyDecision =>
  decisions.reduce((a, b) => (STRICTNESS[b.decision] > STRICTNESS[a.decision] ? b : a));
