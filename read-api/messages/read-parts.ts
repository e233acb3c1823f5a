/** Recently read parts of received mail: the places to resume reading, and their true length. */
import type { PartDescription } from '../../commands/mail/message.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { ReceivedPart } from '../../commands/kernel/received-part.ts';

const MOST_KNOWN = 200;
/** By attachment id; a message never changes, so entries never expire. */
const known = new BoundedMap<string, ReceivedPart>(MOST_KNOWN);

/** The part of this id, with the places reached by earlier reads. */
export function partOf(attachmentId: string, description: PartDescription): ReceivedPart {
  const part = known.get(attachmentId) ?? new ReceivedPart(description);
  known.set(attachmentId, part);
  return part;
}

/** Decoded octets of a part that this process recently read to its end; null otherwise. */
export const readLength = (attachmentId: string): number | null =>
  known.get(attachmentId)?.knownLength ?? null;
