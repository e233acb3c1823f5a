/** A tampered log: events in memory with other data than was written. */
import type { StoredEvent } from '../../../commands/values/event.ts';
import type { MemoryEventStore } from './memory-event-store.ts';

type Data = StoredEvent['data'];

/** Replaces the data of the one event of this type in a stream. */
export function rewritten(
  events: MemoryEventStore,
  stream: string,
  type: string,
  change: (data: Data) => Data,
): void {
  const [event, ...more] = events.all.filter((each) => each.streamName === stream && each.type === type);
  if (!event || more.length > 0) throw new Error(`there is not one ${type} in ${stream}`);
  Object.assign(event, { data: change(event.data) });
}
