/** Which events of a stream are visible now. */
import type { EventLog } from './event-log.ts';
import type { StoredRecord } from './stored-record.ts';
import { firstVisible, isTombstoned } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';

/** The lowest revision a read may return now. */
export async function lowestVisible(log: EventLog, stream: string, state: StreamState): Promise<number> {
  const { maxAgeSeconds } = state.metadata;
  if (maxAgeSeconds === Number.POSITIVE_INFINITY) return firstVisible(state);
  const young = await log.rows.firstSince(stream, state.head, Date.now() - 1_000 * maxAgeSeconds);
  return Math.max(firstVisible(state), young);
}

/** One event, or null when it is missing or hidden. */
export async function visibleEvent(
  log: EventLog,
  stream: string,
  revision: number,
): Promise<StoredRecord | null> {
  if (stream.includes('\u0000')) return null;
  const state = await log.states.read(stream);
  if (isTombstoned(state) || revision < 0 || revision > state.head) return null;
  if (revision < (await lowestVisible(log, stream, state))) return null;
  const [event] = await log.rows.streamFrom(stream, revision, 'forwards', 1);
  return event ?? null;
}
