/**
 * The decision of a policy about one request (`contract.md` 8): any deny, else the first match, else the
 * default. Pure.
 */
import {
  APPROVER_ROLES,
  isOfDomain,
  type Policy,
  type PolicyAction,
  type PolicyCondition,
  type PolicyEffect,
  type PolicyRule,
  type Range,
  type RequireEffect,
} from '../values/policy-document.ts';
import { BUILT_IN_RULES, CUSTOM_HEADERS, OWN_DEFAULT } from './built-in-policy.ts';
import type { ActorKind } from '../kernel/access.ts';

/** One recipient of a send, as far as policy is concerned. */
export interface RecipientFacts {
  /** In ASCII and lower case. */
  readonly domain: string;
  /** True when the domain is in none of the policy's internal domains. */
  readonly external: boolean;
  readonly firstContact: boolean;
}

export interface AttachmentFacts {
  /** In `PolicyFacts` without parameters and in lower case, the form that rules are compared with. */
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
}

/** All facts that a rule can test. */
export interface PolicyFacts {
  /** At least one. */
  readonly actions: readonly PolicyAction[];
  readonly mailboxId: string;
  readonly actor: ActorKind;
  readonly principalId: string;
  /** The number of messages in the request. */
  readonly bulkCount: number;
  /** Null for a request that sends nothing. */
  readonly send: {
    readonly recipients: readonly RecipientFacts[];
    readonly attachments: readonly AttachmentFacts[];
    /** Header fields that the policy does not list; absent = none. */
    readonly unlistedHeaders?: readonly string[];
  } | null;
}

export interface PolicyDecision {
  readonly decision: PolicyEffect['decision'];
  /** The terms of the approval; null unless one is required. */
  readonly terms: RequireEffect | null;
  /** How long the commit or the send is held back: the longest delay of any part of the request. */
  readonly undoSeconds: number;
  readonly ruleId: string;
  readonly version: number;
}

/** One case of a request, and the decision about it alone. */
export interface DecidedCase {
  readonly case: PolicyCase;
  readonly decision: PolicyDecision;
}

/** Decides each action, kind of recipient and kind of attachment separately. Returns at least one case. */
export const decideCases = (
  policy: Policy,
  facts: PolicyFacts,
  kinds: Kinds = ALL_KINDS,
): readonly DecidedCase[] =>
  casesOf(facts, kinds).map((one) => ({ case: one, decision: decideCase(policy, one) }));

/**
 * The strictest decision over every action, recipient and attachment: what is denied for one of them is
 * denied for the request, and an allow must apply to all of them. Of those that no rule distinguishes, one
 * represents all.
 */
export const decidePolicy = (policy: Policy, facts: PolicyFacts): PolicyDecision =>
  decisionOver(policy, facts, decideCases(policy, facts, kindsBy(policy)));

/**
 * The decision about the request with these cases. A send with a header field that is not listed is denied.
 */
export function decisionOver(
  { version }: Policy,
  { send }: PolicyFacts,
  cases: readonly DecidedCase[],
): PolicyDecision {
  const isListed = (send?.unlistedHeaders ?? []).length === 0;
  if (!isListed) return decisionOf({ decision: 'deny' }, CUSTOM_HEADERS, version);
  const decisions = cases.map(({ decision }) => decision);
  const most = strictest(decisions);
  const wanted = decisions.flatMap(({ terms }) => terms ?? []);
  return {
    ...most,
    terms: most.terms && jointTerms(most.terms, wanted),
    undoSeconds: Math.max(...decisions.map(({ undoSeconds }) => undoSeconds)),
  };
}

/** Items of one kind have the same text. */
interface Kinds {
  readonly recipient: (recipient: RecipientFacts) => string;
  readonly attachment: (attachment: AttachmentFacts) => string;
}

/** A hundred recipients of one domain are one case. */
const ALL_KINDS: Kinds = { recipient: JSON.stringify, attachment: JSON.stringify };

/**
 * Items that the same rules match are one kind: every recipient with every attachment would be many thousand
 * cases.
 */
const kindsBy = ({ rules }: Policy): Kinds => ({
  recipient: (recipient) => rules.map(({ when }) => Number(fitsRecipient(when, recipient))).join(''),
  attachment: (attachment) => rules.map(({ when }) => Number(fitsAttachment(when, attachment))).join(''),
});

/** One case per action, kind of recipient and kind of attachment. */
function casesOf({ actions, send, ...subject }: PolicyFacts, kinds: Kinds): readonly PolicyCase[] {
  const recipientCount = send?.recipients.length ?? null;
  const recipients = distinct(send?.recipients ?? [], kinds.recipient);
  const attachments = distinct(send?.attachments ?? [], kinds.attachment);
  return actions.flatMap((action) =>
    orNone(recipients).flatMap((recipient) =>
      orNone(attachments).map((attachment) => ({
        ...subject,
        action,
        recipientCount,
        recipient,
        attachment,
      })),
    ),
  );
}

const orNone = <Item>(items: readonly Item[]): readonly (Item | null)[] =>
  items.length === 0 ? [null] : items;

const distinct = <Item>(items: readonly Item[], kindOf: (item: Item) => string): readonly Item[] => [
  ...new Map(items.map((item) => [kindOf(item), item])).values(),
];

function decideCase({ version, rules, default: own }: Policy, one: PolicyCase): PolicyDecision {
  const matching = rulesFor(rules, one);
  const rule = matching.find(({ then }) => then.decision === 'deny') ?? matching[0];
  if (rule) return decisionOf(rule.then, rule.id, version);
  if (own) return decisionOf(own, OWN_DEFAULT, version);
  const [builtIn] = rulesFor(BUILT_IN_RULES, one);
  if (!builtIn) throw new Error('the built-in policy has no last rule');
  return decisionOf(builtIn.then, builtIn.id, version);
}

/**
 * A rule for agents also applies to a delegated caller (a person's token, or a call on behalf of a person),
 * unless a matching rule names `delegated`.
 */
function rulesFor(rules: readonly PolicyRule[], one: PolicyCase): readonly PolicyRule[] {
  const matching = rules.filter((rule) => matches(rule.when, one));
  if (one.actor !== 'delegated') return matching;
  const isNamed = matching.some(({ when }) => when.actors?.includes('delegated') === true);
  return isNamed ? matching.filter(({ when }) => namesActor(when, 'delegated')) : matching;
}

const decisionOf = (effect: PolicyEffect, ruleId: string, version: number): PolicyDecision => ({
  decision: effect.decision,
  terms: effect.decision === 'require' ? effect : null,
  undoSeconds: effect.decision === 'deny' ? 0 : (effect.undo_seconds ?? 0),
  ruleId,
  version,
});

const RANK = { allow: 0, require: 1, deny: 2 } as const;

/** Positive when `a` is stricter than `b`: deny over require over allow, then quorum, role, four eyes. */
export function compareStrictness(a: PolicyDecision, b: PolicyDecision): number {
  const byDecision = RANK[a.decision] - RANK[b.decision];
  if (byDecision !== 0 || !a.terms || !b.terms) return byDecision;
  return (
    a.terms.quorum - b.terms.quorum ||
    APPROVER_ROLES.indexOf(a.terms.approver_role) - APPROVER_ROLES.indexOf(b.terms.approver_role) ||
    Number(a.terms.exclude_owner) - Number(b.terms.exclude_owner)
  );
}

/** The first decision that no other is stricter than. Expects at least one. */
const strictest = (decisions: readonly PolicyDecision[]): PolicyDecision =>
  decisions.reduce((a, b) => (compareStrictness(b, a) > 0 ? b : a));

/**
 * `strictest` names the rule; each of its terms becomes as strict as the strictest of all, so that one more
 * recipient never requires less. It is committed automatically only where every part says so.
 */
function jointTerms(strictest: RequireEffect, all: readonly RequireEffect[]): RequireEffect {
  const { auto_commit: _, ...terms } = strictest;
  const rank = Math.max(...all.map(({ approver_role }) => APPROVER_ROLES.indexOf(approver_role)));
  const autoCommit = all.some(({ auto_commit }) => auto_commit === false)
    ? false
    : all.every(({ auto_commit }) => auto_commit === true) || undefined;
  return {
    ...terms,
    quorum: Math.max(...all.map(({ quorum }) => quorum)),
    approver_role: APPROVER_ROLES[rank] ?? strictest.approver_role,
    exclude_owner: all.some(({ exclude_owner }) => exclude_owner),
    decision_ttl: Math.min(...all.map(({ decision_ttl }) => decision_ttl)),
    commit_ttl: Math.min(...all.map(({ commit_ttl }) => commit_ttl)),
    ...(autoCommit === undefined ? {} : { auto_commit: autoCommit }),
  };
}

/** One action with one of its recipients and one of its attachments. */
interface PolicyCase {
  readonly action: PolicyAction;
  readonly mailboxId: string;
  readonly actor: ActorKind;
  readonly principalId: string;
  readonly bulkCount: number;
  /** Null for an action that sends nothing. */
  readonly recipientCount: number | null;
  readonly recipient: RecipientFacts | null;
  readonly attachment: AttachmentFacts | null;
}

const holds = <Wanted>(wanted: Wanted | undefined, test: (wanted: Wanted) => boolean): boolean =>
  wanted === undefined || test(wanted);

const within = (range: Range | undefined, count: number): boolean =>
  holds(range, ({ min = 0, max = Infinity }) => count >= min && count <= max);

/** True for a rule that names this kind of actor, or none. */
const namesActor = ({ actors }: PolicyCondition, actor: 'person' | 'delegated' | 'agent'): boolean =>
  holds(actors, (named) => named.includes(actor));

/** An actor that is neither a person nor an agent is treated as an agent (`contract.md` 2). */
const isActor = (when: PolicyCondition, actor: ActorKind): boolean =>
  actor === 'person'
    ? namesActor(when, 'person')
    : namesActor(when, 'agent') || (actor === 'delegated' && namesActor(when, 'delegated'));

const isOfType = (pattern: string, type: string): boolean =>
  pattern === '*/*' || (pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern);

/** A condition on recipients or attachments does not hold where there are none. */
function matches(when: PolicyCondition, one: PolicyCase): boolean {
  const { recipientCount, recipient, attachment } = one;
  return (
    holds(when.actions, (actions) => actions.includes(one.action)) &&
    holds(when.mailbox_ids, (ids) => ids.includes(one.mailboxId)) &&
    holds(when.principal_ids, (ids) => ids.includes(one.principalId)) &&
    isActor(when, one.actor) &&
    within(when.bulk_count, one.bulkCount) &&
    holds(when.recipient_count, (range) => recipientCount !== null && within(range, recipientCount)) &&
    fitsRecipient(when, recipient) &&
    fitsAttachment(when, attachment)
  );
}

/** True when the conditions on a recipient hold; null = there is no recipient. */
const fitsRecipient = (when: PolicyCondition, recipient: RecipientFacts | null): boolean =>
  holds(when.recipient_domains, (all) => all.some((each) => isOfDomain(each, recipient?.domain ?? ''))) &&
  holds(when.external_recipient, (wanted) => recipient?.external === wanted) &&
  holds(when.first_contact, (wanted) => recipient?.firstContact === wanted);

/** True when the conditions on an attachment hold; null = there is no attachment. */
const fitsAttachment = (when: PolicyCondition, attachment: AttachmentFacts | null): boolean =>
  holds(
    when.attachment_types,
    (all) => attachment !== null && all.some((each) => isOfType(each, attachment.contentType)),
  ) && holds(when.attachment_size, (range) => attachment !== null && within(range, attachment.size));
