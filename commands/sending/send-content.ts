/** What a send of a draft would carry, as policy looks at it. */
import { GatewayError } from '../values/errors.ts';
import { type TypedAttachment, typesOf } from '../mail/attachment-types.ts';
import type { Ports } from '../ports/ports.ts';
import type { SendContent } from '../policy/decide-for-caller.ts';
import type { AttachmentFacts } from '../policy/policy-facts.ts';
import { attachmentsOf, openEnvelope, recipientsOf } from '../drafts/draft-envelope.ts';
import type { DraftState } from '../drafts/draft.ts';

/** One for each type it may be of. */
export const attachmentFactsOf = (
  attachment: TypedAttachment & { readonly size: number },
): readonly AttachmentFacts[] =>
  typesOf(attachment).map((contentType) => ({ contentType, size: attachment.size }));

/** Every recipient and attachment of the draft as it stands. Throws `conflict` when its content was erased, `store_unavailable`. */
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
