/** A subscription that outlives its connections. */
import type { EventFilter, Log, Position, SubscriptionItem } from '../../commands/kernel/ports.ts';
import { Backoff } from './backoff.ts';
import type { StoreConnections } from './store-connections.ts';
import { classifyFailure, reportFailure } from './store-errors.ts';
import type { StreamReader } from './stream-reader.ts';
import { SubscriptionFeed } from './subscription-feed.ts';

/** The checkpoint is newer than the log, or names no event of it: the store was restored from a backup, or is another. */
export class CheckpointNotInLog extends Error {
  constructor(from: Position | null, where: string) {
    super(
      `The checkpoint ${String(from)} ${where}: the event store was replaced or restored from an older backup. ` +
        'Restore the database of the same time, or rebuild the read models.',
    );
    this.name = 'CheckpointNotInLog';
  }
}

export interface FollowParts {
  readonly connections: StoreConnections;
  readonly reader: StreamReader;
  readonly log: Log;
  /** How long a subscription may take to be confirmed. */
  readonly confirmMs: number;
}

/**
 * Every item after `from`, resubscribing after any error from the last item handed out. Ends when the signal aborts.
 * Throws `CheckpointNotInLog`: beyond the end of its log a server stays silent for ever.
 */
export async function* followAll(
  parts: FollowParts,
  from: Position | null,
  signal: AbortSignal,
  filter: EventFilter | undefined,
): AsyncGenerator<SubscriptionItem, void, undefined> {
  const progress: Progress = { last: from, backoff: new Backoff() };
  let checked = from === null;
  while (!signal.aborted) {
    try {
      if (!checked) await refuseBeyondEnd(parts.reader, from ?? -1n);
      checked = true;
      yield* oneSubscription(parts, progress, signal, filter);
    } catch (error) {
      if (error instanceof CheckpointNotInLog) throw error;
      if (classifyFailure(error) === 'refused')
        throw new CheckpointNotInLog(progress.last, `is refused (${String(error)})`);
      reportFailure(parts.log, 'subscription is opened again', { from: String(progress.last) }, error);
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
  if (from > end) throw new CheckpointNotInLog(from, `lies beyond the end of the event log (${String(end)})`);
}

/** Items of one subscription until it fails (throws) or the signal aborts. */
async function* oneSubscription(
  { connections, log, confirmMs }: FollowParts,
  progress: Progress,
  signal: AbortSignal,
  filter: EventFilter | undefined,
): AsyncGenerator<SubscriptionItem, void, undefined> {
  const connection = connections.acquire();
  const feed = new SubscriptionFeed(connection.client, { from: progress.last, filter, log, confirmMs });
  const stop = (): void => {
    feed.close();
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
  } catch (error) {
    if (classifyFailure(error) === 'again-elsewhere') connections.discard(connection);
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    feed.close();
    connections.release(connection);
  }
}
