/** The content of a send, as policy evaluates it. */
import { GatewayError } from '../values/errors.ts';
import { type TypedAttachment, typesOf } from '../mail/attachment-types.ts';
import type { Ports } from '../ports/ports.ts';
import type { SendContent } from '../policy/decide-for-caller.ts';
import type { AttachmentFacts } from '../policy/decide-policy.ts';
import { attachmentsOf, openEnvelope, recipientsOf } from '../drafts/draft-envelope.ts';
import type { DraftState } from '../drafts/draft.ts';
import { requesterNow } from '../operations/requester.ts';
import type { OperationState } from '../operations/operation.ts';
import { decideSend, policyInForce } from '../policy/decide-for-caller.ts';
import { liesWithin } from '../drafts/load-draft.ts';
import { untilRightsKnown } from '../kernel/rights-known.ts';

/** One entry for each type that the attachment may have. */
export const attachmentFactsOf = (
  attachment: TypedAttachment & { readonly size: number },
): readonly AttachmentFacts[] =>
  typesOf(attachment).map((contentType) => ({ contentType, size: attachment.size }));

/**
 * Every recipient and attachment of the draft as it is now. Throws `conflict` when its content was erased,
 * and `store_unavailable`.
 */
export async function sendContentOf(
  { personal, contacts }: Pick<Ports, 'personal' | 'contacts'>,
  { current, mailboxId }: DraftState,
): Promise<SendContent> {
  const envelope = current && (await openEnvelope(personal, current));
  if (current === null || envelope === null)
    throw new GatewayError('conflict', 'The content of this draft was erased.');
  const recipients = recipientsOf(envelope).map(({ email }) => email);
  return {
    recipients,
    writtenTo: await contacts.writtenTo(mailboxId ?? '', recipients),
    attachments: attachmentsOf(current, envelope).flatMap(attachmentFactsOf),
    headers: Object.keys(envelope.headers),
  };
}

/**
 * Why the requester could no longer send this directly; null when nothing forbids it. Throws `conflict` when
 * the content of the draft was erased, `store_unavailable` while this process may lack a change of rights.
 */
export async function refusedToday(
  ports: Pick<Ports, 'directory' | 'locators' | 'personal' | 'contacts' | 'clock'>,
  asked: OperationState,
  draft: DraftState,
): Promise<'insufficient_scope' | 'policy_denied' | null> {
  await untilRightsKnown(ports.directory);
  const { state } = ports.directory;
  const standing = requesterNow(state, asked, { scopes: ['drafts:send'], now: ports.clock.now() });
  if (typeof standing === 'string' || asked.submitted === null) return 'insufficient_scope';
  if (!liesWithin(ports.locators, standing, draft)) return 'insufficient_scope';
  const { by, orgId } = asked.submitted;
  const acting = { mailboxId: standing.mailbox.id, actor: by.type, principalId: by.id };
  const content = await sendContentOf(ports, draft);
  const { decision } = decideSend(policyInForce(state, orgId ?? ''), acting, content);
  return decision === 'allow' ? null : 'policy_denied';
}
