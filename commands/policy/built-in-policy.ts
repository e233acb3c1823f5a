/** The built-in policy (`contract.md` 8): what holds until an organisation sets its own, and where that one says nothing. */
import { type Policy, PolicyEffect, PolicyRule } from '../values/policy-document.ts';

/** One approver, as `contract.md` 8 has it by default. */
const oneApprover = PolicyEffect.parse({ decision: 'require' });

/** Its rules stand behind those of an organisation; the ids are reserved for them. */
export const BUILT_IN_RULES: readonly PolicyRule[] = [
  PolicyRule.parse({ id: 'default.person', when: { actors: ['person'] }, then: { decision: 'allow' } }),
  { id: 'default.irreversible', when: { actions: ['send', 'expunge'] }, then: oneApprover },
  PolicyRule.parse({ id: 'default.reversible', when: {}, then: { decision: 'allow' } }),
];

/** Version 0; an organisation's own versions count from 1. */
export const BUILT_IN_POLICY: Policy = {
  version: 0,
  internal_domains: [],
  custom_headers: [],
  rules: [],
  default: null,
};

/** Names the decision of a policy's own default. */
export const OWN_DEFAULT = 'default';
/** Names the decision where the policy in force cannot be read by this gateway. */
export const UNREADABLE = 'unreadable';

/** Names the refusal of a send with a header field that the policy does not list. */
export const CUSTOM_HEADERS = 'custom_headers';

export const isReserved = (ruleId: string): boolean =>
  [OWN_DEFAULT, UNREADABLE, CUSTOM_HEADERS].includes(ruleId) || ruleId.startsWith('default.');
