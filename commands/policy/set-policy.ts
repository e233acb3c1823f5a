/** Sets an organisation's policy. The caller of these functions has verified that the person may. */
import { type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import type { DirectoryState } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { Fact } from '../values/event.ts';
import { canonicalJson } from '../kernel/idempotency.ts';
import type { Policy } from '../values/policy-document.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import { readInput } from '../kernel/input-issues.ts';
import { policy, type PolicySet } from './policy-events.ts';
import { assertIdsKnown, invalidPolicy, PolicyDocument } from './policy-input.ts';

/** Validates what a person wrote, unknown ids included. Throws `invalid_request` with `details.issues`. */
export function readPolicyDocument(state: DirectoryState, orgId: string, written: unknown): PolicyDocument {
  const read = readInput(PolicyDocument, written);
  if (read.issues !== null)
    throw invalidPolicy(read.issues.map(({ path, message }) => ({ path: [path], message })));
  assertIdsKnown(state, orgId, read.data);
  return read.data;
}

/** A document, and the `If-Match` of its request; null and `*` match every version. */
export type PolicyChange = PolicyDocument & { readonly ifMatch?: string | null };

/**
 * Returns nothing for a policy that says the same as the one in force. Throws `version_conflict` like
 * `setPolicy`, for such a policy too. Pure.
 */
export function newVersion(inForce: Policy, change: PolicyChange): readonly Fact<typeof PolicySet>[] {
  assertMadeFrom(inForce, change);
  if (saysTheSame(inForce, change)) return [];
  return [{ type: 'PolicySet', data: { version: inForce.version + 1, ...contentOf(change) } }];
}

export type PolicyPorts = Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>;

export interface PolicyWasSet {
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
export const saysTheSame = (a: PolicyContent, b: PolicyContent): boolean =>
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
