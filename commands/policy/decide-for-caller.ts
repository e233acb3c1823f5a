/** The policy in force, asked for the caller of a request: what every use case calls before its first append. */
import type { Context } from '../kernel/capability.ts';
import type { DirectoryState, MailboxEntry } from '../ports/directory.ts';
import { unlistedHeaders } from '../values/header-names.ts';
import { isOfDomain, type Policy, type PolicyAction, wireForm } from '../values/policy-document.ts';
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
  /** Those of them that the mailbox has written to through the gateway: the others are first contacts. */
  readonly writtenTo: ReadonlySet<string>;
  readonly attachments: readonly AttachmentFacts[];
  /** Names of the header fields its sender added. */
  readonly headers: readonly string[];
}

/** What policy says of sending this from the mailbox. */
export function decideSendPolicy(
  asking: Asking,
  mailbox: Pick<MailboxEntry, 'id'>,
  content: SendContent,
): PolicyDecision {
  const { state } = asking.ports.directory;
  return decideSend(policyInForce(state, asking.caller.org.id), whoAsks(asking, mailbox.id), content);
}

/** What a policy says of a send, whoever asks for it. */
export const decideSend = (policy: Policy, acting: Acting, content: SendContent): PolicyDecision =>
  decidePolicy(policy, factsOfSend(policy, acting, content));

/** A send as this policy looks at it. */
export const factsOfSend = (
  policy: Pick<Policy, 'internal_domains' | 'custom_headers'>,
  acting: Acting,
  { recipients, writtenTo, attachments, headers }: SendContent,
): PolicyFacts => ({
  ...acting,
  actions: ['send'],
  bulkCount: 1,
  send: {
    recipients: recipients.map((address): RecipientFacts => {
      const domain = domainOf(address);
      return { domain, external: !isInternal(policy, domain), firstContact: !writtenTo.has(address) };
    }),
    attachments: attachments.map(bareType),
    unlistedHeaders: unlistedHeaders(headers, policy.custom_headers),
  },
});

/** True for a domain, in its wire form, that the policy names as inside the organisation. */
export const isInternal = ({ internal_domains }: Pick<Policy, 'internal_domains'>, domain: string): boolean =>
  internal_domains.some((pattern) => isOfDomain(pattern, domain));

const domainOf = (address: string): string => wireForm(address.slice(address.lastIndexOf('@') + 1));

/** Rules name bare types (RFC 6838): a charset behind one must not take the attachment out of their reach. */
const bareType = ({ contentType, size }: AttachmentFacts): AttachmentFacts => ({
  contentType: (contentType.split(';', 1)[0] ?? '').trim().toLowerCase(),
  size,
});
