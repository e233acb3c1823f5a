/** Tests whether the conditions of a rule hold for one case. Pure. */
import type { ActorKind } from '../kernel/access.ts';
import {
  isOfDomain,
  type PolicyAction,
  type PolicyCondition,
  type Range,
} from '../values/policy-document.ts';
import type { AttachmentFacts, RecipientFacts } from './policy-facts.ts';

/** One action with one of its recipients and one of its attachments. */
export interface PolicyCase {
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
export const namesActor = ({ actors }: PolicyCondition, actor: 'person' | 'delegated' | 'agent'): boolean =>
  holds(actors, (named) => named.includes(actor));

/** An actor that is neither a person nor an agent is treated as an agent (`contract.md` 2). */
const isActor = (when: PolicyCondition, actor: ActorKind): boolean =>
  actor === 'person'
    ? namesActor(when, 'person')
    : namesActor(when, 'agent') || (actor === 'delegated' && namesActor(when, 'delegated'));

const isOfType = (pattern: string, type: string): boolean =>
  pattern === '*/*' || (pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern);

/** A condition on recipients or attachments does not hold where there are none. */
export function matches(when: PolicyCondition, one: PolicyCase): boolean {
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
export const fitsRecipient = (when: PolicyCondition, recipient: RecipientFacts | null): boolean =>
  holds(when.recipient_domains, (all) => all.some((each) => isOfDomain(each, recipient?.domain ?? ''))) &&
  holds(when.external_recipient, (wanted) => recipient?.external === wanted) &&
  holds(when.first_contact, (wanted) => recipient?.firstContact === wanted);

/** True when the conditions on an attachment hold; null = there is no attachment. */
export const fitsAttachment = (when: PolicyCondition, attachment: AttachmentFacts | null): boolean =>
  holds(
    when.attachment_types,
    (all) => attachment !== null && all.some((each) => isOfType(each, attachment.contentType)),
  ) && holds(when.attachment_size, (range) => attachment !== null && within(range, attachment.size));
