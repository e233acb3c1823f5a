/** Sets an organisation's policy: the capability, and the functions that the admin command shares with it. */
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { DirectoryState } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { Fact } from '../values/event.ts';
import { canonicalJson } from '../values/canonical-json.ts';
import {
  CustomHeaders,
  InternalDomains,
  type Policy,
  PolicyEffect,
  PolicyRules,
} from '../values/policy-document.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import { readInput } from '../kernel/input-issues.ts';
import { policy, type PolicySet, type PolicyVersion } from './policy-events.ts';
import { assertIdsKnown, invalidPolicy, PolicyDocument } from './policy-input.ts';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { z } from 'zod';
import { BUILT_IN_RULES } from './built-in-policy.ts';

/** Validates what a person wrote, unknown ids included. Throws `invalid_request` with `details.issues`. */
export function readPolicyDocument(state: DirectoryState, orgId: string, written: unknown): PolicyDocument {
  const read = readInput(PolicyDocument, written);
  if (read.issues !== null)
    throw invalidPolicy(read.issues.map(({ path, message }) => ({ path: [path], message })));
  assertIdsKnown(state, orgId, read.data);
  return read.data;
}

/** A document, and the `If-Match` of its request; null and `*` match every version. */
type PolicyChange = PolicyDocument & { readonly ifMatch?: string | null };

/**
 * Returns nothing for a policy that says the same as the one in force. Throws `version_conflict` like
 * `setPolicy`, for such a policy too. Pure.
 */
function newVersion(inForce: Policy, change: PolicyChange): readonly Fact<typeof PolicySet>[] {
  assertMadeFrom(inForce, change);
  if (saysTheSame(inForce, change)) return [];
  return [{ type: 'PolicySet', data: { version: inForce.version + 1, ...contentOf(change) } }];
}

export type PolicyPorts = Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>;

interface PolicyWasSet {
  readonly version: number;
  readonly changed: boolean;
  /** The position of the version in force; null while only the built-in one is. */
  readonly position: Position | null;
}

/**
 * Puts the policy in force; one that says the same adds nothing. Resolves when every process decides by it or
 * no longer answers. Throws `version_conflict` when the document or its `If-Match` names another version than
 * the one in force.
 */
export async function setPolicy(
  ports: PolicyPorts,
  author: Author,
  orgId: string,
  change: PolicyChange,
): Promise<PolicyWasSet> {
  const { state, appended, position } = await decideAndAppend(ports, author, policy, {
    id: orgId,
    decide: (inForce) => newVersion(inForce, change),
  });
  // This also runs when nothing was added: an earlier attempt may have been interrupted before other
  // processes had to know.
  if (position !== null) await ports.directory.waitFor(position);
  return { version: state.version, changed: appended !== null, position };
}

type PolicyContent = Omit<Policy, 'version'>;

const contentOf = (of: PolicyContent) => ({
  internal_domains: [...of.internal_domains],
  custom_headers: [...of.custom_headers],
  rules: [...of.rules],
  default: of.default,
});

/** True when both would put the same policy in force, whatever their versions. */
const saysTheSame = (a: PolicyContent, b: PolicyContent): boolean =>
  canonicalJson(contentOf(a)) === canonicalJson(contentOf(b));

function assertMadeFrom(
  { version }: Policy,
  { version: read = version, ifMatch = null }: PolicyChange,
): void {
  const isMatched = ifMatch === null || ifMatch === '*' || ifMatch === String(version);
  if (isMatched && read === version) return;
  const message = `Version ${String(version)} is in force; this policy was made from another one.`;
  throw new GatewayError('version_conflict', message, { details: { version } });
}

/** PUT /org/policy: a person puts a policy in force, based on the version they read. */
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
