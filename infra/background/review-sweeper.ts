/** Brings drafts and their checks together where the end of one was cut off before the other heard of it. */
import type { Ports } from '../../commands/ports/ports.ts';
import { settleReview } from '../../commands/sending/release-draft.ts';
import { type LeftReview, listLeftReviews } from '../../projections/draft-reviews.ts';
import { KeyedBackoff } from '../concurrency/backoff.ts';
import { repeat } from './repeat.ts';

const LOOK_EVERY_MS = 1_000;
/** Whoever ends one goes on with the other at once. */
const LEFT_FOR_MS = 2_000;
const MOST_AT_ONCE = 100;

/** Looks for what is left until the signal aborts. */
export async function runReviewSweeper(ports: Ports, signal: AbortSignal): Promise<void> {
  const { clock, log } = ports;
  const backoff = new KeyedBackoff(clock, { firstMs: LEFT_FOR_MS, mostMs: 60_000 });
  await repeat({ name: 'review-sweeper', everyMs: LOOK_EVERY_MS, clock, log, signal }, async () => {
    const now = clock.now().getTime();
    const since = new Date(now - LEFT_FOR_MS);
    const except = backoff.waiting();
    for (const review of await listLeftReviews(ports.sql, { since, except, limit: MOST_AT_ONCE })) {
      if (await isSettled(ports, review)) backoff.clear(review.operationId);
      else backoff.failed(review.operationId);
    }
  });
}

/** Never throws, so that none is in the way of those behind it. */
async function isSettled(ports: Ports, review: LeftReview): Promise<boolean> {
  try {
    await settleReview(ports, review);
    return true;
  } catch (error) {
    ports.log.warn('draft review: retry scheduled', {
      operation_id: review.operationId,
      error: String(error),
    });
    return false;
  }
}
