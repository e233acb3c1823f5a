/**
 * The decision of the policy in force for the caller of a request: every use case calls this before its first
 * append.
 */
import type { Context } from '../kernel/capability.ts';
import type { DirectoryState, MailboxEntry } from '../ports/directory.ts';
import { unlistedHeaders } from '../values/header-fields.ts';
import { isOfDomain, type Policy, type PolicyAction, wireForm } from '../values/policy-document.ts';
import { BUILT_IN_POLICY } from './built-in-policy.ts';
import {
  type AttachmentFacts,
  decidePolicy,
  type PolicyDecision,
  type PolicyFacts,
  type RecipientFacts,
} from './decide-policy.ts';

type Asking = Pick<Context, 'caller' | 'ports'>;
/** The principal and the mailbox of a request, as far as policy is concerned. */
export type Acting = Pick<PolicyFacts, 'mailboxId' | 'actor' | 'principalId'>;

/** The organisation's own policy, or the built-in one. */
export const policyInForce = ({ policies }: Pick<DirectoryState, 'policies'>, orgId: string): Policy =>
  policies.get(orgId) ?? BUILT_IN_POLICY;

const whoAsks = ({ caller }: Asking, mailboxId: string): Acting => ({
  mailboxId,
  actor: caller.actor,
  principalId: caller.principal.id,
});

/**
 * The policy decision about these actions on `bulkCount` messages of a mailbox. Pass at least one action; a
 * send needs more facts (`decideSendPolicy`).
 */
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

/** The content of a send: every envelope recipient, Bcc included. */
export interface SendContent {
  /** Addresses. */
  readonly recipients: readonly string[];
  /** The recipients that the mailbox has sent mail to through the gateway; the others are first contacts. */
  readonly writtenTo: ReadonlySet<string>;
  readonly attachments: readonly AttachmentFacts[];
  /** Names of the header fields that the sender added. */
  readonly headers: readonly string[];
}

/** The policy decision about sending this from the mailbox. */
export function decideSendPolicy(
  asking: Asking,
  mailbox: Pick<MailboxEntry, 'id'>,
  content: SendContent,
): PolicyDecision {
  const { state } = asking.ports.directory;
  return decideSend(policyInForce(state, asking.caller.org.id), whoAsks(asking, mailbox.id), content);
}

/** The decision of a policy about a send, for any principal. */
export const decideSend = (policy: Policy, acting: Acting, content: SendContent): PolicyDecision =>
  decidePolicy(policy, factsOfSend(policy, acting, content));

/** A send as this policy evaluates it. */
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

/** True for a domain, in its wire form, that the policy names as internal. */
export const isInternal = ({ internal_domains }: Pick<Policy, 'internal_domains'>, domain: string): boolean =>
  internal_domains.some((pattern) => isOfDomain(pattern, domain));

const domainOf = (address: string): string => wireForm(address.slice(address.lastIndexOf('@') + 1));

/** Rules name bare types (RFC 6838): a charset after the type must not exempt the attachment from them. */
const bareType = ({ contentType, size }: AttachmentFacts): AttachmentFacts => ({
  contentType: (contentType.split(';', 1)[0] ?? '').trim().toLowerCase(),
  size,
});
