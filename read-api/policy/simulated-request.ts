/** A hypothetical request as input for the policy (`contract.md` 3 and 8). */
import { z } from 'zod';
import type { Context } from '../../commands/kernel/capability.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import { MailboxIdParameter, MAX_MESSAGES } from '../../commands/mail/select.ts';
import { isMediaType, MAX_ATTACHMENTS } from '../../commands/drafts/draft-input.ts';
import { loadDraft } from '../../commands/drafts/load-draft.ts';
import { AddressInput, addressOf } from '../../commands/drafts/mail-address.ts';
import { sendContentOf } from '../../commands/sending/send-content.ts';
import { ActOperation } from '../../commands/email/act-operations.ts';
import type { Policy } from '../../commands/values/policy-document.ts';
import { type Acting, factsOfSend } from '../../commands/policy/decide-for-caller.ts';
import type { PolicyFacts } from '../../commands/policy/decide-policy.ts';
import { memberOfOrg } from '../../commands/kernel/membership.ts';

const MAX_RECIPIENTS = 100;

/** A mail that exists nowhere, so that a policy can be simulated without one. */
const Send = z.strictObject({
  type: z.literal('send'),
  recipients: z
    .array(AddressInput)
    .min(1)
    .max(MAX_RECIPIENTS)
    .describe('To, Cc and Bcc together; each is taken as a first contact.'),
  attachments: z
    .array(
      z.strictObject({
        content_type: z.string().refine(isMediaType, 'A media type such as application/pdf.'),
        size: z.int().min(0).describe('Bytes.'),
      }),
    )
    .max(MAX_ATTACHMENTS)
    .default([]),
});

export const Simulated = z.strictObject({
  mailbox_id: MailboxIdParameter,
  operation: z
    .discriminatedUnion('type', [...ActOperation.options, Send])
    .describe('As email.act takes it, or a send that is nowhere written.'),
  principal_id: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('A member (usr_) or an agent (agt_); absent = you.'),
  actor: z
    .enum(['person', 'delegated'])
    .optional()
    .describe('Of a member: signed in (the default), or acting through a token.'),
  bulk_count: z
    .int()
    .min(0)
    .max(MAX_MESSAGES)
    .optional()
    .describe(
      'How many messages it would be; absent = as many as message_ids. Needed with a filter: nothing is looked up.',
    ),
});
export type Simulated = z.output<typeof Simulated>;

const invalid = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { details: { issues: [{ path, code: 'custom', message }] } });

/**
 * The facts that the policy would read. A draft is read with the caller's own rights. Throws `not_found` for
 * an unknown mailbox, principal or draft, `insufficient_scope` for the draft, and `invalid_request`.
 */
export async function simulatedFacts(
  context: Context,
  policy: Policy,
  asked: Simulated,
): Promise<PolicyFacts> {
  const { state } = context.ports.directory;
  const orgId = context.caller.org.id;
  if (state.mailboxes.get(asked.mailbox_id)?.orgId !== orgId) throw notFound('mailbox');
  const acting = actingAs(context, asked);
  const { operation } = asked;
  if (operation.type !== 'message_actions' && asked.bulk_count !== undefined)
    throw invalid('bulk_count', 'Only actions on messages have a number of them.');
  switch (operation.type) {
    case 'message_actions':
      return {
        ...acting,
        actions: operation.actions.map(({ type }) => type),
        bulkCount: bulkCountOf(asked, operation.select),
        send: null,
      };
    case 'send': {
      const { recipients, attachments } = operation;
      return factsOfSend(policy, acting, {
        recipients: recipients.map((recipient) => addressOf(recipient).email),
        // The addresses a mailbox wrote to are visible only to readers of its drafts.
        writtenTo: new Set(),
        attachments: attachments.map(({ content_type, size }) => ({ contentType: content_type, size })),
        headers: [],
      });
    }
    case 'draft_send': {
      const draft = await loadDraft(context, operation.draft_id, ['drafts:read']);
      if (draft.mailbox.id !== asked.mailbox_id) throw notFound('draft');
      return factsOfSend(policy, acting, await sendContentOf(context.ports, draft.state));
    }
    default:
      return { ...acting, actions: [operation.type], bulkCount: 1, send: null };
  }
}

function bulkCountOf(
  { mailbox_id, bulk_count }: Simulated,
  select: Extract<Simulated['operation'], { type: 'message_actions' }>['select'],
): number {
  if (select.mailbox_id !== undefined && select.mailbox_id !== mailbox_id)
    throw invalid('operation.select.mailbox_id', 'select.mailbox_id names another mailbox.');
  const count = bulk_count ?? select.message_ids?.length;
  if (count === undefined)
    throw invalid('bulk_count', 'Nothing is looked up: say how many messages the filter would find.');
  return count;
}

/** Throws `not_found` for a principal outside the organisation. */
function actingAs({ ports, caller }: Context, { mailbox_id, principal_id, actor }: Simulated): Acting {
  const { state } = ports.directory;
  const principalId = principal_id ?? caller.principal.id;
  if (state.agents.get(principalId)?.orgId === caller.org.id) {
    if (actor !== undefined) throw invalid('actor', 'An agent is always judged as an agent.');
    return { mailboxId: mailbox_id, principalId, actor: 'agent' };
  }
  if (memberOfOrg(state, caller.org.id, principalId) === null) throw notFound('principal');
  return { mailboxId: mailbox_id, principalId, actor: actor ?? 'person' };
}
