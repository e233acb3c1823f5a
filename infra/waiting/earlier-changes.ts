/** Changes that are no longer in memory, from the mailbox's own streams: one for each day. */
import { feedStream } from '../../commands/feed/feed-events.ts';
import { FEED_DAYS } from '../../commands/ports/change-feed.ts';
import { type FeedPlace, isAfter, type ObservedChange } from '../../commands/ports/observed-change.ts';
import type { Clock } from '../../commands/ports/ports.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../commands/values/event.ts';

const DAY_MS = 86_400_000;

export interface EarlierParts {
  readonly events: Pick<EventStore, 'readStream'>;
  readonly clock: Pick<Clock, 'now'>;
  /** What an event tells. */
  readonly changesOf: (stored: StoredEvent) => readonly ObservedChange[];
}

/**
 * The changes of a mailbox after a place, oldest first. Days are read backwards until one begins at or before the place, and
 * one day more on either side: around midnight the processes that wrote need not have agreed on the day. Throws
 * `store_unavailable`.
 */
export async function readEarlierChanges(
  { events, clock, changesOf }: EarlierParts,
  mailboxId: string,
  place: FeedPlace,
): Promise<readonly ObservedChange[]> {
  const found: ObservedChange[] = [];
  let last = FEED_DAYS + 1;
  for (let daysAgo = -1; daysAgo <= last; daysAgo += 1) {
    const day = new Date(clock.now().getTime() - daysAgo * DAY_MS);
    const stored = await events.readStream(feedStream(mailboxId, day));
    found.push(...stored.flatMap(changesOf).filter((change) => isAfter(change, place)));
    const [first] = stored;
    if (first && first.position <= place.position) last = Math.min(last, daysAgo + 1);
  }
  return found.sort((a, b) => Number(a.position - b.position) || a.index - b.index);
}
