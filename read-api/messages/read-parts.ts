/** Recently read parts of received mail: the places to resume reading, and their true length. */
import type { PartDescription } from '../../commands/mail/message.ts';
import { ReceivedPart } from '../../commands/kernel/received-part.ts';

/** By attachment id, the most recently used last; a message never changes, so entries never expire. */
const known = new Map<string, ReceivedPart>();
const MOST_KNOWN = 200;

/** The part of this id, with the places reached by earlier reads. */
export function partOf(attachmentId: string, description: PartDescription): ReceivedPart {
  const part = known.get(attachmentId) ?? new ReceivedPart(description);
  known.delete(attachmentId);
  known.set(attachmentId, part);
  const [oldest] = known.keys();
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
  return part;
}

/** Decoded octets of a part that this process recently read to its end; null otherwise. */
export const readLength = (attachmentId: string): number | null =>
  known.get(attachmentId)?.knownLength ?? null;
