/** What every event gets at the moment it is authored, and keeps however often the same append is sent: its id and its salt. */
import { uuidV5 } from '../values/ids.ts';
import type { AccessEntry, Ids } from '../ports/ports.ts';
import type { NewEvent } from '../values/event.ts';

/** One append's events, under a fresh attempt id. */
export function newEvents(ids: Ids, stream: string, entries: readonly AccessEntry[]): NewEvent[] {
  const attemptId = ids.newUuid();
  return entries.map(({ type, data, metadata }, index) => ({
    id: uuidV5(stream, attemptId, String(index)),
    type,
    data,
    metadata: { ...metadata, salt: ids.newSalt() },
  }));
}
