/** The policy of an organisation as callers see it (`contract.md` 17). */
import { z } from 'zod';
import { CustomHeaders, InternalDomains, PolicyEffect, PolicyRules } from '../values/policy-document.ts';
import { BUILT_IN_RULES } from './built-in-policy.ts';
import type { PolicyVersion } from './policy-events.ts';

export const OrgPolicy = z.object({
  version: z.int().describe('Counts from 1; 0 = nothing was set and the built-in rules decide alone.'),
  internal_domains: InternalDomains,
  custom_headers: CustomHeaders,
  rules: PolicyRules.describe('The first that matches decides; any that denies wins.'),
  default: PolicyEffect.nullable().describe('Where no rule matches; null = the built-in rules decide.'),
  built_in_rules: PolicyRules.describe('What holds where neither rules nor default decide.'),
  set_at: z.string().nullable(),
  set_by: z.string().nullable().describe('A member (usr_), or admin-command.'),
});
export type OrgPolicy = z.output<typeof OrgPolicy>;

/** A version as its stream has it. */
export const describePolicy = ({ setAt, setBy, default: own, ...said }: PolicyVersion): OrgPolicy => ({
  version: said.version,
  internal_domains: [...said.internal_domains],
  custom_headers: [...said.custom_headers],
  rules: [...said.rules],
  default: own,
  built_in_rules: [...BUILT_IN_RULES],
  set_at: setAt,
  set_by: setBy,
});
