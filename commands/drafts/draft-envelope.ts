/** The content of a draft without its body, sealed as one JSON text in each version's event. */
import { z } from 'zod';
import { SkippedRecipient } from '../operations/draft-shape.ts';
import type { Address } from '../mail/message.ts';
import type { PersonalData } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import type { AttachmentReference, DraftVersion } from './draft-events.ts';

const StoredAddress = z.object({ name: z.string().nullable(), email: z.string() });
const addresses = z.array(StoredAddress);

/** How an attachment is shown, and the hash of its bytes. The event itself holds the size. */
const AttachmentLabel = z.object({
  id: z.string(),
  filename: z.string().nullable(),
  content_type: z.string(),
  /** Names it inside the HTML (`cid:`), without brackets; null = an ordinary attachment. */
  content_id: z.string().nullable(),
  /**
   * Its bytes came as base64 in a request, of which a draft takes few. Absent = uploaded, or part of received
   * mail.
   */
  given_inline: z.literal(true).optional(),
  /**
   * The type of its leading bytes, for policy; null = unknown. Absent = written before they were inspected.
   */
  sniffed_type: z.string().nullable().optional(),
  /** Null for a part of received mail. Absent in older envelopes, where the event holds it. */
  sha256: z.string().nullable().optional(),
});

export const DraftEnvelope = z.object({
  /** Null = the mailbox's own address and name as they are when the message is made. */
  from: StoredAddress.nullable(),
  to: addresses,
  cc: addresses,
  bcc: addresses,
  reply_to: addresses,
  subject: z.string(),
  headers: z.record(z.string(), z.string()),
  attachments: z.array(AttachmentLabel),
  /** For a reply: recipients it should have gone to and cannot. */
  skipped_recipients: z.array(SkippedRecipient).optional(),
});
export type DraftEnvelope = z.output<typeof DraftEnvelope>;

export interface DraftAttachment extends z.output<typeof AttachmentLabel>, AttachmentReference {
  readonly sha256: string | null;
}

/** All recipients. */
export const recipientsOf = ({ to, cc, bcc }: DraftEnvelope): readonly Address[] => [...to, ...cc, ...bcc];

export const sealEnvelope = (
  personal: PersonalData,
  mailboxId: string,
  envelope: DraftEnvelope,
): Promise<Sealed> => personal.seal(mailboxId, JSON.stringify(envelope));

/** Null when the mailbox's key was erased. */
export async function openEnvelope(
  personal: PersonalData,
  { envelope }: Pick<DraftVersion, 'envelope'>,
): Promise<DraftEnvelope | null> {
  const text = await personal.open(envelope);
  return text === null ? null : DraftEnvelope.parse(JSON.parse(text));
}

/** Combines labels and references, in the order of the references. */
export const attachmentsOf = (
  { attachments }: Pick<DraftVersion, 'attachments'>,
  envelope: DraftEnvelope | null,
): readonly DraftAttachment[] =>
  attachments.map((reference) => {
    const label = envelope?.attachments.find(({ id }) => id === reference.id);
    const erased = { filename: null, content_type: 'application/octet-stream', content_id: null };
    const sha256 = reference.sha256 ?? label?.sha256 ?? null;
    return { ...erased, ...label, ...reference, sha256 };
  });

/** `contract.md` 15: the limit of the encoded message. */
export const MAX_MESSAGE_BYTES = 25 * 1024 * 1024;

/** `contract.md` 15: To, Cc and Bcc together. */
export const MAX_RECIPIENTS = 100;
