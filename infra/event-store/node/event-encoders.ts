/** How events are handed out: as they are, or links with what they name. */
import type { EventLog } from './event-log.ts';
import { encodeEvent, encodeLink } from './read-answers.ts';
import type { StoredRecord } from './stored-record.ts';
import { visibleEvent } from './visible-events.ts';

/** A link's data is `<revision>@<stream>`. */
const LINK_TYPE = '$>';

/** Makes the answer that carries an event. */
export type Encode = (record: StoredRecord) => Buffer | Promise<Buffer>;

/** For a read that wants links resolved, or not: then as `encode` has it. */
export const encoderFor = (
  log: EventLog,
  { resolveLinks }: { readonly resolveLinks: boolean },
  encode: Encode = encodeEvent,
): Encode => (resolveLinks ? (record) => resolvedAnswer(log, record) : encode);

/**
 * The answer for an event, or for a link together with the event it names; the event is left out when it is not there or
 * hidden. A link to a link is not followed further, and what names no revision is an event like any other.
 */
function resolvedAnswer(log: EventLog, record: StoredRecord): Buffer | Promise<Buffer> {
  if (record.type !== LINK_TYPE) return encodeEvent(record);
  const [revision = '', ...rest] = Buffer.from(record.data).toString('utf8').split('@');
  if (!/^\s*[+-]?\d+\s*$/.test(revision)) return encodeEvent(record);
  return visibleEvent(log, rest.join('@'), Number(revision)).then((event) => encodeLink(record, event));
}
