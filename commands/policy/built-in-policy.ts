/**
 * The built-in policy (`contract.md` 8): it applies until an organisation sets its own, and where that one
 * has no matching rule and no default.
 */
import { type Policy, PolicyEffect, PolicyRule } from '../values/policy-document.ts';

/** One approver, the default of `contract.md` 8. */
const oneApprover = PolicyEffect.parse({ decision: 'require' });

/** The rules that apply after those of an organisation; their ids are reserved. */
export const BUILT_IN_RULES: readonly PolicyRule[] = [
  PolicyRule.parse({ id: 'default.person', when: { actors: ['person'] }, then: { decision: 'allow' } }),
  { id: 'default.irreversible', when: { actions: ['send', 'expunge'] }, then: oneApprover },
  PolicyRule.parse({ id: 'default.reversible', when: {}, then: { decision: 'allow' } }),
];

/** Version 0; the versions of an organisation count from 1. */
export const BUILT_IN_POLICY: Policy = {
  version: 0,
  internal_domains: [],
  custom_headers: [],
  rules: [],
  default: null,
};

/** The rule id of a decision by the policy's own default. */
export const OWN_DEFAULT = 'default';
/** The rule id of a decision where this gateway cannot read the policy in force. */
export const UNREADABLE = 'unreadable';

/** The rule id of the refusal of a send with a header field that the policy does not list. */
export const CUSTOM_HEADERS = 'custom_headers';

export const isReserved = (ruleId: string): boolean =>
  [OWN_DEFAULT, UNREADABLE, CUSTOM_HEADERS].includes(ruleId) || ruleId.startsWith('default.');
