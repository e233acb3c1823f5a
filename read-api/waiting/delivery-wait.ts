/** Waits for deliveries of webhooks to end. */
import type { Context } from '../../commands/kernel/capability.ts';
import type { FeedPlace } from '../../commands/ports/change-feed.ts';
import { notFound } from '../../commands/values/errors.ts';
import { type Delivery, describeDelivery } from '../../commands/webhooks/delivery-payload.ts';
import { findDeliveries } from '../../projections/webhook-queries.ts';
import { sightOf } from '../webhooks/read-deliveries.ts';
import type { Found, WaitSource } from './wait-for.ts';

export const MAX_DELIVERIES = 50;
const READ_MODEL_WITHIN_MS = 1_000;

/** Matches each delivery when its attempt ends, whatever the outcome. */
export function deliveriesThat(context: Context, deliveryIds: readonly string[]): WaitSource<Delivery> {
  const ids = [...new Set(deliveryIds)];
  return { ids, find: (after, caller) => findEnded({ ...context, caller }, ids, after) };
}

async function findEnded(
  context: Context,
  ids: readonly string[],
  after: FeedPlace,
): Promise<Found<Delivery>> {
  const { caller, ports } = context;
  const upTo = ports.feed.reached;
  // A wait that finds the read model behind looks again: nothing counts as searched that it does not have.
  const isThere = await ports.readModels.waitFor(upTo, READ_MODEL_WITHIN_MS);
  const rows = await findDeliveries(ports.sql, caller.org.id, ids);
  const sees = await sightOf(context);
  if (isThere && rows.filter(sees).length < ids.length) throw notFound('delivery');
  const ended = rows
    .filter(sees)
    .flatMap((row) => {
      const { endedPosition } = row;
      const isNews = endedPosition !== null && endedPosition > after.position && endedPosition <= upTo;
      return isNews ? [{ row, endedPosition }] : [];
    })
    .toSorted((a, b) => Number(a.endedPosition - b.endedPosition));
  return {
    items: await Promise.all(ended.map(({ row }) => describeDelivery(ports, row))),
    upTo: { position: isThere ? upTo : after.position, index: null },
    more: !isThere,
  };
}
