/** A subscription to `$all` that survives lost connections, and pages of `$all`; only of the known log. */
import type { Log } from '../../commands/ports/ports.ts';
import type { SubscriptionItem } from '../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import { Backoff } from '../concurrency/backoff.ts';
import { LogReplaced } from './known-log.ts';
import type { KnownLog } from './known-log.ts';
import type { CurrentConnection } from './store-connection.ts';
import { classifyFailure, reportFailure } from './store-errors.ts';
import type { StreamReader } from './stream-reader.ts';
import { SubscriptionFeed } from './subscription-feed.ts';
import type { Place } from './subscription-feed.ts';

/** The checkpoint is beyond the log, or not an event's: the store was restored from a backup, or replaced. */
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
  readonly connections: CurrentConnection;
  readonly reader: StreamReader;
  readonly known: KnownLog;
  readonly log: Log;
  /** Timeout for the confirmation of a subscription. */
  readonly confirmMs: number;
}

/**
 * Every item after `from`. Resubscribes after any error from the last item yielded. Ends when the signal
 * aborts. Throws `CheckpointNotInLog`: a server sends nothing to a subscription from beyond the end of its
 * log. Yields nothing while the store holds another log than before; resumes when the known log is back.
 */
export async function* followAll(
  parts: FollowParts,
  from: Position | null,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionItem, void, undefined> {
  const place = from === null ? null : { commit: from, prepare: from };
  const progress: Progress = { place, backoff: new Backoff() };
  let checked = from === null;
  const isOver = (): boolean => signal.aborted;
  while (!isOver()) {
    try {
      if (!checked) await refuseBeyondEnd(parts.reader, from ?? -1n);
      checked = true;
      yield* oneSubscription(parts, progress, signal);
    } catch (error) {
      if (error instanceof CheckpointNotInLog) throw error;
      if (isOver()) return;
      const last = progress.place?.commit ?? null;
      if (classifyFailure(error) === 'refused') throw refused(last, error);
      // `KnownLog` reports a replaced log once.
      if (!(error instanceof LogReplaced))
        reportFailure(parts.log, 'subscribe', { from: String(last) }, error);
      await progress.backoff.pause(signal);
    }
  }
}

/**
 * Events of `$all` after a position, fewer than `most` only at the end of the log. Throws `CheckpointNotInLog`,
 * `LogReplaced` or `store_unavailable`.
 */
export async function readKnownLog(
  { reader, known }: Pick<FollowParts, 'reader' | 'known'>,
  after: Position | null,
  most: number,
): Promise<readonly StoredEvent[]> {
  const page = await reader.allAfter(after, most).catch(async (error: unknown) => {
    if (classifyFailure(error) !== 'refused') throw error;
    await known.compare();
    throw refused(after, error);
  });
  // After the read: a page of another log must not be returned.
  await known.compare();
  const last = page.at(-1);
  if (last) known.hold(last);
  else if (after !== null) await refuseBeyondEnd(reader, after);
  return page;
}

const refused = (from: Position | null, error: unknown): CheckpointNotInLog =>
  new CheckpointNotInLog(from, `is refused (${String(error)})`);

/** State that survives a subscription. */
interface Progress {
  /** Behind everything that was returned or searched. */
  place: Place | null;
  readonly backoff: Backoff;
}

async function refuseBeyondEnd(reader: StreamReader, from: Position): Promise<void> {
  const end = await reader.endPosition();
  if (from > end) throw new CheckpointNotInLog(from, `is beyond the end of the event log (${String(end)})`);
}

/** Items of one subscription until it fails (throws) or the signal aborts. */
async function* oneSubscription(
  { connections, known, log, confirmMs }: FollowParts,
  progress: Progress,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionItem, void, undefined> {
  const connection = connections.acquire();
  const setDeaf = (isDeaf: boolean): void => {
    known.setDeaf(progress, isDeaf);
  };
  const options = { from: progress.place, log, confirmMs, setDeaf };
  const feed = new SubscriptionFeed(connection.client, options);
  // Asked for each event, which costs more of a signal that is made of several.
  let isOver = signal.aborted;
  const stop = (): void => {
    isOver = true;
    feed.close();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    await feed.confirmed();
    // Not earlier: only a confirmed subscription has a known server.
    await known.compare();
    while (!isOver) {
      const item = feed.take();
      progress.place = feed.place;
      if (item === null) {
        await feed.changed();
        continue;
      }
      progress.backoff.reset();
      if (item.kind === 'event') known.hold(item.event);
      else if (item.kind === 'checkpoint') known.reach(item.position);
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
