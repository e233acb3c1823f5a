import type { PolicyEntry } from '../../../commands/ports/directory.ts';
import { PolicyRules } from '../../../commands/values/policy-document.ts';

/** A policy as the directory has it: rules with their defaults, and the fields that a test is about. */
export const policyEntry = (
  rules: readonly unknown[],
  more: Partial<Omit<PolicyEntry, 'rules'>> = {},
): PolicyEntry => ({
  id: 'org_1',
  version: 1,
  internal_domains: [],
  custom_headers: [],
  default: null,
  ...more,
  rules: PolicyRules.parse(rules),
});
