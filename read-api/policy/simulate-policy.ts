/** POST /org/policy/simulate: a policy's decision on a request, case by case; nothing is run or stored. */
import { z } from 'zod';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { APPROVER_ROLES, type Policy, POLICY_ACTIONS } from '../../commands/values/policy-document.ts';
import { policyInForce } from '../../commands/policy/decide-for-caller.ts';
import {
  type DecidedCase,
  decideCases,
  decisionOver,
  type PolicyDecision,
} from '../../commands/policy/decide-policy.ts';
import type { PolicyFacts } from '../../commands/policy/decide-policy.ts';
import { assertIdsKnown, PolicyDocument } from '../../commands/policy/policy-input.ts';
import { Simulated, simulatedFacts } from './simulated-request.ts';

const Input = Simulated.extend({
  policy: PolicyDocument.optional().describe('Tried in the place of the policy in force.'),
});
type Input = z.output<typeof Input>;

const Terms = z.object({
  quorum: z.int(),
  approver_role: z.enum(APPROVER_ROLES),
  exclude_owner: z.boolean(),
  decision_ttl: z.int(),
  commit_ttl: z.int(),
  auto_commit: z.boolean().nullable().describe('Null = as the mode of the request has it.'),
});

const Verdict = z.object({
  decision: z.enum(['allow', 'require', 'deny']),
  rule_id: z.string(),
  terms: Terms.nullable().describe('How it would have to be approved; null unless approval is required.'),
  undo_seconds: z.int(),
});

const Simulation = Verdict.extend({
  version: z.int().describe('Of the policy that was asked; of one that was sent along, the next version.'),
  actor: z.enum(['person', 'delegated', 'agent', 'system']),
  principal_id: z.string(),
  bulk_count: z.int(),
  recipient_count: z.int().nullable().describe('Null for whatever sends nothing.'),
  cases: z
    .array(
      Verdict.extend({
        action: z.enum(POLICY_ACTIONS),
        recipient: z
          .object({ domain: z.string(), external: z.boolean(), first_contact: z.boolean() })
          .nullable()
          .describe('Recipients that are alike to every rule are one case.'),
        attachment: z.object({ content_type: z.string(), size: z.int() }).nullable(),
      }),
    )
    .describe('Each judged on its own; the strictest holds, and the longest undo.'),
});
type Simulation = z.output<typeof Simulation>;

export const simulatePolicy = defineCapability<Input, Simulation>({
  name: 'simulate_policy',
  title: 'Simulate the policy',
  summary: 'What policy would decide about a request, and by which rules; nothing runs.',
  description:
    'Asks the policy in force, or one sent along, about an operation on a mailbox by a member or an agent. Answers the ' +
    'decision and which rule decided each action, recipient and attachment. Nothing is run, looked up in mail, or kept.',
  effect: 'read',
  access: { any: ['policy:manage'] },
  rest: { method: 'post', path: '/org/policy/simulate' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: Simulation,
  handle: async ({ policy: candidate, ...asked }, context) => {
    const policy = policyToAsk(context, candidate);
    const facts = await simulatedFacts(context, policy, asked);
    return simulationOf(policy, facts);
  },
});

/** Throws `invalid_request` for a candidate with unknown ids. */
function policyToAsk({ ports, caller }: Context, candidate: PolicyDocument | undefined): Policy {
  const { state } = ports.directory;
  const inForce = policyInForce(state, caller.org.id);
  if (candidate === undefined) return inForce;
  assertIdsKnown(state, caller.org.id, candidate, ['policy']);
  return { ...candidate, version: inForce.version + 1 };
}

function simulationOf(policy: Policy, facts: PolicyFacts): Simulation {
  const cases = decideCases(policy, facts);
  const decision = decisionOver(policy, facts, cases);
  return {
    ...verdictOf(decision),
    version: decision.version,
    actor: facts.actor,
    principal_id: facts.principalId,
    bulk_count: facts.bulkCount,
    recipient_count: facts.send?.recipients.length ?? null,
    cases: cases.map(describeCase),
  };
}

const describeCase = ({ case: one, decision }: DecidedCase): Simulation['cases'][number] => ({
  action: one.action,
  recipient: one.recipient && {
    domain: one.recipient.domain,
    external: one.recipient.external,
    first_contact: one.recipient.firstContact,
  },
  attachment: one.attachment && { content_type: one.attachment.contentType, size: one.attachment.size },
  ...verdictOf(decision),
});

function verdictOf({ decision, ruleId, terms, undoSeconds }: PolicyDecision): z.output<typeof Verdict> {
  return {
    decision,
    rule_id: ruleId,
    terms: terms && {
      quorum: terms.quorum,
      approver_role: terms.approver_role,
      exclude_owner: terms.exclude_owner,
      decision_ttl: terms.decision_ttl,
      commit_ttl: terms.commit_ttl,
      auto_commit: terms.auto_commit ?? null,
    },
    undo_seconds: undoSeconds,
  };
}
