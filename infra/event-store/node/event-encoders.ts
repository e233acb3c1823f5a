/** How events are sent: unchanged, or links with the events they name. */
import type { EventLog } from './event-log.ts';
import { encodeEvent, encodeLink } from './read-answers.ts';
import type { StoredRecord } from './stored-record.ts';
import { visibleEvent } from './visible-events.ts';

/** A link's data is `<revision>@<stream>`. */
const LINK_TYPE = '$>';

/** Encodes the answer that carries an event. */
export type Encode = (record: StoredRecord) => Buffer | Promise<Buffer>;

/** The encoder of a read: resolves links if requested; otherwise `encode`. */
export const encoderFor = (
  log: EventLog,
  { resolveLinks }: { readonly resolveLinks: boolean },
  encode: Encode = encodeEvent,
): Encode => (resolveLinks ? (record) => resolvedAnswer(log, record) : encode);

/**
 * The answer for an event, or for a link with the event it names; without the event when it is missing or
 * hidden. A link to a link is not followed further. A link without a revision is sent as a plain event.
 */
function resolvedAnswer(log: EventLog, record: StoredRecord): Buffer | Promise<Buffer> {
  if (record.type !== LINK_TYPE) return encodeEvent(record);
  const [revision = '', ...rest] = Buffer.from(record.data).toString('utf8').split('@');
  if (!/^\s*[+-]?\d+\s*$/.test(revision)) return encodeEvent(record);
  return visibleEvent(log, rest.join('@'), Number(revision)).then((event) => encodeLink(record, event));
}
