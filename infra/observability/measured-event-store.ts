/** The event store with measured appends. */
import { type EventStore, WrongExpectedRevision } from '../../commands/ports/event-store.ts';
import type { Metrics } from './metrics.ts';

/** The same store; every append is reported to the metrics, whatever its outcome. */
export const measureAppends = (events: EventStore, metrics: Pick<Metrics, 'appendDone'>): EventStore => ({
  append: async (streamName, expected, facts) => {
    const begin = performance.now();
    const done = (outcome: 'appended' | 'refused' | 'failed'): void => {
      metrics.appendDone({ outcome, seconds: (performance.now() - begin) / 1_000 });
    };
    try {
      const appended = await events.append(streamName, expected, facts);
      done('appended');
      return appended;
    } catch (error) {
      done(error instanceof WrongExpectedRevision ? 'refused' : 'failed');
      throw error;
    }
  },
  readStream: (streamName, from) => events.readStream(streamName, from),
  readLast: (streamName) => events.readLast(streamName),
  headPosition: () => events.headPosition(),
  readAll: (after, most) => events.readAll(after, most),
  subscribeToAll: (from, signal, filter) => events.subscribeToAll(from, signal, filter),
});
