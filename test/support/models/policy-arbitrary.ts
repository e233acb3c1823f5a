/** Random policies and requests over few values, so that rules often match. */
import fc from 'fast-check';
import { APPROVER_ROLES, type Policy, type PolicyEffect } from '../../../commands/values/policy-document.ts';
import type { PolicyFacts } from '../../../commands/policy/decide-policy.ts';

const ACTIONS = ['send', 'move', 'trash', 'expunge', 'set_flags'] as const;
const DOMAINS = ['own.example', 'mail.own.example', 'other.example'] as const;
const TYPES = ['image/png', 'image/gif', 'application/pdf'] as const;

const effect: fc.Arbitrary<PolicyEffect> = fc.oneof(
  fc.record({ decision: fc.constant('allow' as const), undo_seconds: fc.constantFrom(0, 30, 600) }),
  fc.constant({ decision: 'deny' as const }),
  fc.record({
    decision: fc.constant('require' as const),
    quorum: fc.integer({ min: 1, max: 3 }),
    approver_role: fc.constantFrom(...APPROVER_ROLES),
    exclude_owner: fc.boolean(),
    decision_ttl: fc.constant(3_600),
    commit_ttl: fc.constant(3_600),
    undo_seconds: fc.constantFrom(0, 60, 300),
  }),
);

const some = <Value>(...values: readonly Value[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
const range = (most: number) =>
  fc.tuple(fc.nat(most), fc.nat(most)).map(([a, b]) => ({ min: Math.min(a, b), max: Math.max(a, b) }));

/** Each condition is present in one of four rules. */
const condition = fc.record(
  {
    actions: some(...ACTIONS),
    mailbox_ids: some('mbx_1', 'mbx_2'),
    actors: some<'person' | 'delegated' | 'agent'>('person', 'delegated', 'agent'),
    principal_ids: some('usr_1', 'agt_1'),
    recipient_domains: some(...DOMAINS, '*.own.example'),
    external_recipient: fc.boolean(),
    first_contact: fc.boolean(),
    recipient_count: range(4),
    attachment_types: some(...TYPES, 'image/*', '*/*'),
    attachment_size: range(100),
    bulk_count: range(20),
  },
  { requiredKeys: [] },
);
const sparse = fc
  .tuple(condition, fc.array(fc.nat(3), { minLength: 11, maxLength: 11 }))
  .map(([when, dice]) => Object.fromEntries(Object.entries(when).filter((_, index) => dice[index] === 0)));

export const policyArbitrary: fc.Arbitrary<Policy> = fc.record({
  version: fc.nat(9),
  internal_domains: fc.subarray([...DOMAINS]),
  custom_headers: fc.constant([]),
  default: fc.option(effect),
  rules: fc
    .array(fc.record({ when: sparse, then: effect }), { maxLength: 6 })
    .map((rules) => rules.map((rule, index) => ({ id: `rule-${String(index)}`, ...rule }))),
});

export const factsArbitrary: fc.Arbitrary<PolicyFacts> = fc.record({
  actions: some(...ACTIONS),
  mailboxId: fc.constantFrom('mbx_1', 'mbx_2'),
  actor: fc.constantFrom('person', 'delegated', 'agent', 'system'),
  principalId: fc.constantFrom('usr_1', 'agt_1'),
  bulkCount: fc.nat(20),
  send: fc.option(
    fc.record({
      recipients: fc.array(
        fc.record({
          domain: fc.constantFrom(...DOMAINS),
          external: fc.boolean(),
          firstContact: fc.boolean(),
        }),
        { maxLength: 4 },
      ),
      attachments: fc.array(fc.record({ contentType: fc.constantFrom(...TYPES), size: fc.nat(100) }), {
        maxLength: 3,
      }),
    }),
  ),
});
