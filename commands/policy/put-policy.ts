/** PUT /org/policy: a person puts a policy in force, based on the version they read. */
import { type Context, defineCapability } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import { policy, type PolicyVersion } from './policy-events.ts';
import { assertIdsKnown, PolicyDocument } from './policy-input.ts';
import { newVersion, saysTheSame, setPolicy } from './set-policy.ts';
import { z } from 'zod';
import { CustomHeaders, InternalDomains, PolicyEffect, PolicyRules } from '../values/policy-document.ts';
import { BUILT_IN_RULES } from './built-in-policy.ts';

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

/** A version of the policy as its stream holds it. */
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

export const putPolicy = defineCapability<PolicyDocument, OrgPolicy>({
  name: 'set_policy',
  title: 'Set the policy',
  summary: 'Puts a policy into force; it applies everywhere within a second.',
  description:
    'The whole policy: rules in order, and what applies where none matches. If-Match or version names the one it was ' +
    'made from. The same policy again changes nothing. Every version stays readable.',
  effect: 'write',
  access: { any: ['policy:manage'] },
  rest: { method: 'put', path: '/org/policy' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, document, context, settled) => {
      const now = await inForce(context);
      // After a crash that followed the append, the policy is already in force and the version it was based
      // on no longer is.
      return settled || saysTheSame(now, document) ? describePolicy(now) : null;
    },
  },
  input: PolicyDocument,
  output: OrgPolicy,
  etag: ({ version }) => String(version),
  ifMatch: true,
  handle: async (document, context) => {
    const { ports, caller, author, request } = context;
    assertIdsKnown(ports.directory.state, caller.org.id, document);
    const change = { ...document, ifMatch: request.ifMatch };
    newVersion(await inForce(context), change);
    await context.claim('req');
    const { position } = await setPolicy(ports, author, caller.org.id, change);
    context.notePosition(position);
    return describePolicy(await inForce(context));
  },
});

async function inForce({ ports, caller }: Context): Promise<PolicyVersion> {
  const { state } = await loadAggregate(ports.events, policy, caller.org.id);
  return state;
}
