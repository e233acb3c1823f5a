/**
 * The policy of an organisation: what may be done, by whom and with whose approval. Each version stays in the
 * stream.
 */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent } from '../values/event.ts';
import {
  CustomHeaders,
  InternalDomains,
  type Policy,
  PolicyEffect,
  PolicyRules,
} from '../values/policy-document.ts';
import { BUILT_IN_POLICY } from './built-in-policy.ts';

export const PolicySet = defineEvent({
  type: 'PolicySet',
  summary: 'The organisation set its policy; it applies from this event on.',
  data: z.object({
    /** Counts from 1 per organisation. */
    version: z.int().min(1),
    internal_domains: InternalDomains,
    custom_headers: CustomHeaders,
    rules: PolicyRules,
    /** Null = where no rule matches, the built-in policy decides. */
    default: PolicyEffect.nullable(),
  }),
  // Older versions named no internal domains: every recipient is external until a policy names some.
  upcasters: [(data) => ({ ...data, internal_domains: [], custom_headers: [] })],
  webhook: null,
});

export const policyEvents = [PolicySet] as const;

/** A policy, and who set it and when; null for the built-in one. */
export interface PolicyVersion extends Policy {
  readonly setAt: string | null;
  readonly setBy: string | null;
}

/** Its stream is `policy-<org>`. */
export const policy: Aggregate<PolicyVersion, typeof PolicySet> = {
  category: 'policy',
  catalogue: catalogueOf(policyEvents),
  initial: { ...BUILT_IN_POLICY, setAt: null, setBy: null },
  evolve: (_, { data, meta }) => ({ ...data, setAt: meta.occurred_at, setBy: meta.actor.id }),
};
