import { expect } from 'chai';
import fc from 'fast-check';
import type { ActorKind } from '../../../../commands/kernel/access.ts';
import type {
  Policy,
  PolicyAction,
  PolicyEffect,
  PolicyRule,
  Range,
} from '../../../../commands/values/policy-document.ts';
import { decidePolicy } from '../../../../commands/policy/decide-policy.ts';
import type {
  AttachmentFacts,
  PolicyFacts,
  RecipientFacts,
} from '../../../../commands/policy/decide-policy.ts';
import { factsArbitrary, policyArbitrary } from '../../../support/models/policy-arbitrary.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** Each sentence of the contract on its own: nothing shared with the product, nothing combined. */
interface Cell {
  readonly facts: PolicyFacts;
  readonly action: PolicyAction;
  readonly recipient: RecipientFacts | undefined;
  readonly attachment: AttachmentFacts | undefined;
}
type When = PolicyRule['when'];
interface Verdict {
  readonly effect: PolicyEffect;
  readonly rule: string;
}

const inside = (range: Range, count: number | undefined): boolean =>
  count !== undefined && !(count < (range.min ?? 0)) && !(count > (range.max ?? Number.MAX_SAFE_INTEGER));
const oneOf = (patterns: readonly string[], text: string | undefined): boolean =>
  text !== undefined &&
  patterns.some((pattern) =>
    new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.+')}$`).test(text),
  );

/** Whether each condition is violated. */
const BROKEN: readonly ((when: When, cell: Cell) => boolean)[] = [
  ({ actions }, { action }) => actions !== undefined && !actions.includes(action),
  ({ mailbox_ids: ids }, { facts }) => ids !== undefined && !ids.includes(facts.mailboxId),
  ({ principal_ids: ids }, { facts }) => ids !== undefined && !ids.includes(facts.principalId),
  ({ bulk_count: range }, { facts }) => range !== undefined && !inside(range, facts.bulkCount),
  ({ recipient_count: range }, { facts }) =>
    range !== undefined && !inside(range, facts.send?.recipients.length),
  ({ external_recipient: is }, { recipient }) => is !== undefined && is !== recipient?.external,
  ({ first_contact: is }, { recipient }) => is !== undefined && is !== recipient?.firstContact,
  ({ recipient_domains: all }, { recipient }) => all !== undefined && !oneOf(all, recipient?.domain),
  ({ attachment_types: all }, { attachment }) => all !== undefined && !oneOf(all, attachment?.contentType),
  ({ attachment_size: range }, { attachment }) => range !== undefined && !inside(range, attachment?.size),
];

const holds = ({ when }: PolicyRule, cell: Cell, actor: ActorKind): boolean =>
  (when.actors === undefined || when.actors.some((named) => named === actor)) &&
  BROKEN.every((isBroken) => !isBroken(when, cell));

const namesDelegated = ({ when }: PolicyRule): boolean => when.actors?.includes('delegated') === true;

function rulesThatHold({ rules }: Policy, cell: Cell): readonly PolicyRule[] {
  const { actor } = cell.facts;
  if (actor === 'person') return rules.filter((rule) => holds(rule, cell, 'person'));
  const ofAgents = (rule: PolicyRule): boolean => holds(rule, cell, 'agent');
  if (actor !== 'delegated') return rules.filter(ofAgents);
  const ofDelegated = (rule: PolicyRule): boolean => holds(rule, cell, 'delegated');
  const isNamed = rules.some((rule) => namesDelegated(rule) && ofDelegated(rule));
  return rules.filter((rule) => ofDelegated(rule) || (!isNamed && ofAgents(rule)));
}

const ONE_APPROVER: PolicyEffect = {
  decision: 'require',
  quorum: 1,
  approver_role: 'approver',
  exclude_owner: false,
  decision_ttl: 86_400,
  commit_ttl: 3_600,
};

function builtIn({ facts, action }: Cell): Verdict {
  if (facts.actor === 'person') return { effect: { decision: 'allow' }, rule: 'default.person' };
  return action === 'send' || action === 'expunge'
    ? { effect: ONE_APPROVER, rule: 'default.irreversible' }
    : { effect: { decision: 'allow' }, rule: 'default.reversible' };
}

function verdictOn(policy: Policy, cell: Cell): Verdict {
  const rules = rulesThatHold(policy, cell);
  const rule = rules.find(({ then }) => then.decision === 'deny') ?? rules[0];
  if (rule) return { effect: rule.then, rule: rule.id };
  return policy.default ? { effect: policy.default, rule: 'default' } : builtIn(cell);
}

const strictness = (effect: PolicyEffect): number => {
  if (effect.decision !== 'require') return effect.decision === 'deny' ? 1_000 : 0;
  const role = ['approver', 'admin', 'owner'].indexOf(effect.approver_role);
  return effect.quorum * 10 + role * 2 + Number(effect.exclude_owner);
};

const undoOf = (effect: PolicyEffect): number =>
  effect.decision === 'deny' ? 0 : (effect.undo_seconds ?? 0);

const orOne = <Item>(items: readonly Item[] | undefined): readonly (Item | undefined)[] =>
  items === undefined || items.length === 0 ? [undefined] : items;

type Required = Extract<PolicyEffect, { decision: 'require' }>;

/** As strict as the strictest in each single term. */
function wantedOfAll(first: Required, effects: readonly PolicyEffect[]): Required {
  const wanted = { ...first };
  const own = new Set<boolean | undefined>();
  for (const effect of effects) {
    if (effect.decision !== 'require') continue;
    own.add(effect.auto_commit);
    if (effect.quorum > wanted.quorum) wanted.quorum = effect.quorum;
    if (effect.approver_role === 'owner' || wanted.approver_role === 'approver')
      wanted.approver_role = effect.approver_role;
    if (effect.exclude_owner) wanted.exclude_owner = true;
    if (effect.decision_ttl < wanted.decision_ttl) wanted.decision_ttl = effect.decision_ttl;
    if (effect.commit_ttl < wanted.commit_ttl) wanted.commit_ttl = effect.commit_ttl;
  }
  delete wanted.auto_commit;
  if (own.has(false)) wanted.auto_commit = false;
  else if (!own.has(undefined)) wanted.auto_commit = true;
  return wanted;
}

function naive(policy: Policy, facts: PolicyFacts): Verdict & { readonly undo: number } {
  const verdicts: Verdict[] = [];
  for (const action of facts.actions) {
    for (const recipient of orOne(facts.send?.recipients)) {
      for (const attachment of orOne(facts.send?.attachments))
        verdicts.push(verdictOn(policy, { facts, action, recipient, attachment }));
    }
  }
  const most = Math.max(...verdicts.map(({ effect }) => strictness(effect)));
  const [first] = verdicts.filter(({ effect }) => strictness(effect) === most);
  if (!first) throw new Error('nothing was decided');
  const effects = verdicts.map(({ effect }) => effect);
  const effect = first.effect.decision === 'require' ? wantedOfAll(first.effect, effects) : first.effect;
  return { ...first, effect, undo: Math.max(...effects.map(undoOf)) };
}

describe('decidePolicy', () => {
  it(`agrees with a naive evaluation of any policy on any request ${verifies('contract:8:first-match', 'contract:8:deny-wins', 'contract:8:strictest', 'contract:8:undo-range')}`, () => {
    fc.assert(
      fc.property(policyArbitrary, factsArbitrary, (policy, facts) => {
        const { decision, ruleId, version, terms, undoSeconds } = decidePolicy(policy, facts);
        const { effect, rule, undo } = naive(policy, facts);
        const expected = { decision: effect.decision, ruleId: rule, version: policy.version };
        expect({ decision, ruleId, version }).to.deep.equal(expected);
        expect(undoSeconds).to.equal(undo);
        expect(terms).to.deep.equal(effect.decision === 'require' ? effect : null);
      }),
      { numRuns: 2_000 },
    );
  });
});
