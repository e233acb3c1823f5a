/** A subscription that outlives its connections. */
import type { EventFilter, Log, Position, SubscriptionItem } from '../../commands/kernel/ports.ts';
import { Backoff } from './backoff.ts';
import type { StreamReader } from './stream-reader.ts';
import type { SubscriptionClients } from './subscription-clients.ts';
import { SubscriptionFeed } from './subscription-feed.ts';

/** The checkpoint is newer than the log: the store was restored from an older backup, or is another one. */
export class CheckpointBeyondLog extends Error {
  constructor(from: Position, end: Position) {
    super(
      `The checkpoint ${String(from)} lies beyond the end of the event log (${String(end)}): the event store was ` +
        'replaced or restored from an older backup. Restore the database of the same time, or rebuild the read models.',
    );
    this.name = 'CheckpointBeyondLog';
  }
}

/** Until a subscription is back, a change of rights made elsewhere closes this process to its callers. */
const LONGEST_PAUSE_MS = 1_000;

export interface FollowParts {
  readonly clients: SubscriptionClients;
  readonly reader: StreamReader;
  readonly log: Log;
}

/**
 * Every item after `from`, resubscribing after any error from the last item handed out. Ends when the signal aborts.
 * Throws `CheckpointBeyondLog`: a server stays silent for ever on such a position.
 */
export async function* followAll(
  parts: FollowParts,
  from: Position | null,
  signal: AbortSignal,
  filter: EventFilter | undefined,
): AsyncGenerator<SubscriptionItem, void, undefined> {
  const progress: Progress = { last: from, backoff: new Backoff(50, LONGEST_PAUSE_MS) };
  let checked = from === null;
  while (!signal.aborted) {
    try {
      if (!checked) await refuseBeyondEnd(parts.reader, from ?? -1n);
      checked = true;
      yield* oneSubscription(parts.clients, progress, signal, filter);
    } catch (error) {
      if (error instanceof CheckpointBeyondLog) throw error;
      parts.log.warn('subscription is opened again', { from: String(progress.last), error: String(error) });
      await progress.backoff.pause(signal);
    }
  }
}

/** What outlives a subscription. */
interface Progress {
  /** Where the last item handed out stood. */
  last: Position | null;
  readonly backoff: Backoff;
}

async function refuseBeyondEnd(reader: StreamReader, from: Position): Promise<void> {
  const end = await reader.endPosition();
  if (from > end) throw new CheckpointBeyondLog(from, end);
}

/** Items of one subscription until it fails (throws) or the signal aborts. */
async function* oneSubscription(
  clients: SubscriptionClients,
  progress: Progress,
  signal: AbortSignal,
  filter: EventFilter | undefined,
): AsyncGenerator<SubscriptionItem, void, undefined> {
  const client = clients.acquire();
  const feed = new SubscriptionFeed(client, progress.last, filter);
  const stop = (): void => {
    void feed.close();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (!signal.aborted) {
      const item = feed.take();
      if (item === null) {
        await feed.changed();
        continue;
      }
      progress.backoff.reset();
      if (item.kind === 'event') progress.last = item.event.position;
      else if (item.kind === 'checkpoint') progress.last = item.position;
      yield item;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    await feed.close();
    clients.release(client);
  }
}
