/** GET /org/policy: the policy in force, now or at an earlier moment. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import { organisation } from '../../commands/organisation/organisation.ts';
import { policy, type PolicySet, type PolicyVersion } from '../../commands/policy/policy-events.ts';
import { describePolicy, OrgPolicy } from '../../commands/policy/set-policy.ts';
import { AsOfField, loadAsOf, momentAsOf } from '../paging/as-of.ts';
import { type Aggregate, loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { canonicalJson } from '../../commands/values/canonical-json.ts';
import type { Policy } from '../../commands/values/policy-document.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const Input = z.strictObject({ as_of: AsOfField });

export const getPolicy = defineCapability<z.output<typeof Input>, OrgPolicy>({
  name: 'get_policy',
  title: 'Get the policy',
  summary: 'What the organisation lets be done, by whom, and with whose approval.',
  description:
    'The policy in force, or with as_of the one that was; its version is the ETag. Version 0 = none was ever set.',
  effect: 'read',
  access: { any: ['org:read'] },
  rest: { method: 'get', path: '/org/policy' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: OrgPolicy,
  etag: ({ version }) => String(version),
  handle: async ({ as_of }, { ports: { events, clock }, caller: { org } }) => {
    const moment = momentAsOf(clock, as_of);
    const [founded, set] = await Promise.all([
      loadAsOf(events, organisation, org.id, moment),
      loadAsOf(events, policy, org.id, moment),
    ]);
    if (founded === null) throw notFound('policy');
    return describePolicy(set ?? policy.initial);
  },
});

/** GET /org/policy/versions: who changed which rules of the policy, newest first. */
const ruleIds = z.array(z.string());
const Version = z.object({
  version: z.int(),
  set_at: z.string().nullable(),
  set_by: z.string().nullable(),
  rule_count: z.int(),
  changes: z
    .object({
      added: ruleIds,
      removed: ruleIds,
      changed: ruleIds,
      reordered: z.boolean().describe('Rules that stayed stand in another order.'),
      default_changed: z.boolean(),
    })
    .describe('Against the version before, rules by their id.'),
});
type Version = z.output<typeof Version>;
const Versions = collectionOf(Version);
const VersionsInput = z.strictObject(pageFields);

/** The stream of a policy as the list of its versions, oldest first. */
const history: Aggregate<readonly PolicyVersion[], typeof PolicySet> = {
  category: policy.category,
  catalogue: policy.catalogue,
  initial: [],
  evolve: (versions, fact) => [...versions, policy.evolve(policy.initial, fact)],
};

export const listPolicyVersions = defineCapability<z.output<typeof VersionsInput>, z.output<typeof Versions>>(
  {
    name: 'list_policy_versions',
    title: 'List versions of the policy',
    summary: 'Who changed which rules of the policy, and when.',
    description:
      'Every version that was ever in force, newest first. GET /org/policy?as_of=<set_at> shows its rules.',
    effect: 'read',
    access: { any: ['org:read'] },
    rest: { method: 'get', path: '/org/policy/versions' },
    tool: null,
    idempotency: { kind: 'none' },
    input: VersionsInput,
    output: Versions,
    handle: async (input, context) => {
      const { ports, caller } = context;
      const { state: versions } = await loadAggregate(ports.events, history, caller.org.id);
      const entries = versions.map((version, index) => ({
        id: orderOf(version),
        version,
        before: versions[index - 1] ?? policy.initial,
      }));
      return pageOfEntries(context, { route: 'policy-versions', query: {} }, input, {
        entries,
        describe: ({ version, before }) => describeVersion(version, before),
      });
    },
  },
);

/** Padded, so that the text sorts like the number. */
const orderOf = ({ version }: Policy): string => String(version).padStart(10, '0');

const describeVersion = (version: PolicyVersion, before: PolicyVersion): Version => ({
  version: version.version,
  set_at: version.setAt,
  set_by: version.setBy,
  rule_count: version.rules.length,
  changes: changesBetween(before, version),
});

/** The entries that only `after` has, and those that only `before` has. */
export function changesBetween(before: Policy, after: Policy): Version['changes'] {
  const old = new Map(before.rules.map((rule) => [rule.id, rule]));
  const now = new Map(after.rules.map((rule) => [rule.id, rule]));
  const idsOf = ({ rules }: Policy): string[] => rules.map(({ id }) => id);
  const stayed = (ids: readonly string[]): string[] => ids.filter((id) => old.has(id) && now.has(id));
  const kept = stayed(idsOf(after));
  return {
    added: idsOf(after).filter((id) => !old.has(id)),
    removed: idsOf(before).filter((id) => !now.has(id)),
    changed: kept.filter((id) => !isSame(old.get(id), now.get(id))),
    reordered: !isSame(stayed(idsOf(before)), kept),
    default_changed: !isSame(before.default, after.default),
  };
}

const isSame = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);
