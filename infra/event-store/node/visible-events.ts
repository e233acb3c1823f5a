/** Which events of a stream are visible now, and how they are sent: unchanged, or links with the events they name. */
import type { EventLog } from './event-log.ts';
import type { StoredRecord } from './stored-record.ts';
import { firstVisible, isTombstoned } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';
import { encodeEvent, encodeLink } from './read-answers.ts';

/** The lowest revision a read may return now. */
export async function lowestVisible(log: EventLog, stream: string, state: StreamState): Promise<number> {
  const { maxAgeSeconds } = state.metadata;
  if (maxAgeSeconds === Number.POSITIVE_INFINITY) return firstVisible(state);
  const young = await log.rows.firstSince(stream, state.head, Date.now() - 1_000 * maxAgeSeconds);
  return Math.max(firstVisible(state), young);
}

/** One event, or null when it is missing or hidden. */
async function visibleEvent(log: EventLog, stream: string, revision: number): Promise<StoredRecord | null> {
  if (stream.includes('\u0000')) return null;
  const state = await log.states.read(stream);
  if (isTombstoned(state) || revision < 0 || revision > state.head) return null;
  if (revision < (await lowestVisible(log, stream, state))) return null;
  const [event] = await log.rows.streamFrom(stream, revision, 'forwards', 1);
  return event ?? null;
}

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
