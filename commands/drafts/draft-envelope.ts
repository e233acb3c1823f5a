/** What a draft says beside its body: sealed as one JSON text in each version's event. */
import { z } from 'zod';
import { SkippedRecipient } from '../operations/draft-shape.ts';
import type { Address } from '../mail/message.ts';
import type { PersonalData } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import type { AttachmentReference, DraftVersion } from './draft-events.ts';

const StoredAddress = z.object({ name: z.string().nullable(), email: z.string() });
const addresses = z.array(StoredAddress);

/** How an attachment is shown, and the hash of its bytes; its size stands in the event itself. */
const AttachmentLabel = z.object({
  id: z.string(),
  filename: z.string().nullable(),
  content_type: z.string(),
  /** Names it inside the HTML (`cid:`), without brackets; null = an ordinary attachment. */
  content_id: z.string().nullable(),
  /** Its bytes came as base64 in a request, of which a draft takes few. Absent = uploaded, or of received mail. */
  given_inline: z.literal(true).optional(),
  /** What its leading bytes are, for policy; null = nobody can tell. Absent = written before they were looked at. */
  sniffed_type: z.string().nullable().optional(),
  /** Null for a part of received mail. Absent in envelopes of before: there the event has it. */
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
  /** Of an answer: whom it should have gone to and cannot. */
  skipped_recipients: z.array(SkippedRecipient).optional(),
});
export type DraftEnvelope = z.output<typeof DraftEnvelope>;

export interface DraftAttachment extends z.output<typeof AttachmentLabel>, AttachmentReference {
  readonly sha256: string | null;
}

/** Everyone it goes to. */
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

/** Labels and references put together, in the order of the references. */
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

/** `contract.md` 15: of the encoded message. */
export const MAX_MESSAGE_BYTES = 25 * 1024 * 1024;

/** `contract.md` 15: To, Cc and Bcc together. */
export const MAX_RECIPIENTS = 100;
