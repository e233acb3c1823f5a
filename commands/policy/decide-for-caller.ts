/** The policy in force, asked for the caller of a request: what every use case calls before its first append. */
import type { Context } from '../kernel/capability.ts';
import type { DirectoryState, MailboxEntry } from '../kernel/directory.ts';
import { type Policy, type PolicyAction, wireForm } from '../kernel/policy-document.ts';
import { BUILT_IN_POLICY } from './built-in-policy.ts';
import { decidePolicy, type PolicyDecision } from './decide-policy.ts';
import type { AttachmentFacts, PolicyFacts, RecipientFacts } from './policy-facts.ts';

type Asking = Pick<Context, 'caller' | 'ports'>;
/** Who acts where, as far as policy is concerned. */
export type Acting = Pick<PolicyFacts, 'mailboxId' | 'actor' | 'principalId'>;

/** The organisation's own policy, or the built-in one. */
export const policyInForce = ({ policies }: Pick<DirectoryState, 'policies'>, orgId: string): Policy =>
  policies.get(orgId) ?? BUILT_IN_POLICY;

const whoAsks = ({ caller }: Asking, mailboxId: string): Acting => ({
  mailboxId,
  actor: caller.actor,
  principalId: caller.principal.id,
});

/** What policy says of these actions on `bulkCount` messages of a mailbox. Pass at least one action; a send has more to tell. */
export const decideActionPolicy = (
  asking: Asking,
  mailboxId: string,
  actions: readonly Exclude<PolicyAction, 'send'>[],
  bulkCount = 1,
): PolicyDecision =>
  decidePolicy(policyInForce(asking.ports.directory.state, asking.caller.org.id), {
    ...whoAsks(asking, mailboxId),
    actions,
    bulkCount,
    send: null,
  });

/** What a send would carry: every envelope recipient, Bcc included. */
export interface SendContent {
  /** Addresses. */
  readonly recipients: readonly string[];
  readonly attachments: readonly AttachmentFacts[];
}

/** What policy says of sending this from the mailbox. */
export function decideSendPolicy(
  asking: Asking,
  mailbox: Pick<MailboxEntry, 'id'>,
  content: SendContent,
): PolicyDecision {
  const { state } = asking.ports.directory;
  const orgId = asking.caller.org.id;
  return decidePolicy(
    policyInForce(state, orgId),
    factsOfSend(state, orgId, whoAsks(asking, mailbox.id), content),
  );
}

/** A send as policy looks at it. Nobody knows yet who was written to before, so all are first contacts. */
export function factsOfSend(
  state: DirectoryState,
  orgId: string,
  acting: Acting,
  { recipients, attachments }: SendContent,
): PolicyFacts {
  const own = ownDomains(state, orgId);
  const recipientFacts = recipients.map((address): RecipientFacts => {
    const domain = domainOf(address);
    return { domain, external: !own.has(domain), firstContact: true };
  });
  return {
    ...acting,
    actions: ['send'],
    bulkCount: 1,
    send: { recipients: recipientFacts, attachments: attachments.map(bareType) },
  };
}

const domainOf = (address: string): string => wireForm(address.slice(address.lastIndexOf('@') + 1));

/** Rules name bare types (RFC 6838): a charset behind one must not take the attachment out of their reach. */
const bareType = ({ contentType, size }: AttachmentFacts): AttachmentFacts => ({
  contentType: (contentType.split(';', 1)[0] ?? '').trim().toLowerCase(),
  size,
});

/** Domains of an organisation's mailboxes in their wire form: what lies beyond them is outside. */
export const ownDomains = (
  { mailboxes }: Pick<DirectoryState, 'mailboxes'>,
  orgId: string,
): ReadonlySet<string> =>
  new Set(
    [...mailboxes.values()]
      .filter((mailbox) => mailbox.orgId === orgId && mailbox.state !== 'removed')
      .map(({ email }) => domainOf(email)),
  );
