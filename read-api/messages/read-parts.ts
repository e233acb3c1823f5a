/** Parts of received mail that were read lately: where to go on reading, and how long they turned out to be. */
import type { PartDescription } from '../../commands/mail/message.ts';
import { ReceivedPart } from '../../commands/kernel/received-part.ts';

/** By attachment id, the one used last at the end; a message never changes, so they hold for ever. */
const known = new Map<string, ReceivedPart>();
const MOST_KNOWN = 200;

/** The part of this id, with the places it was read to before. */
export function partOf(attachmentId: string, description: PartDescription): ReceivedPart {
  const part = known.get(attachmentId) ?? new ReceivedPart(description);
  known.delete(attachmentId);
  known.set(attachmentId, part);
  const [oldest] = known.keys();
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
  return part;
}

/** Decoded octets of a part that was read to its end; null where nobody here did lately. */
export const readLength = (attachmentId: string): number | null =>
  known.get(attachmentId)?.knownLength ?? null;
