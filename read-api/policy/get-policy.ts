/** GET /org/policy: the policy in force, now or at an earlier moment. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import { organisation } from '../../commands/organisation/organisation.ts';
import { policy } from '../../commands/policy/policy-events.ts';
import { describePolicy, OrgPolicy } from '../../commands/policy/policy-payload.ts';
import { AsOfField, loadAsOf, momentAsOf } from '../paging/as-of.ts';

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
