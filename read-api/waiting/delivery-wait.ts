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

/** Matches each delivery when its attempt ends, whatever the outcome, or when its endpoint ends with it. */
export async function deliveriesThat(
  context: Context,
  deliveryIds: readonly string[],
): Promise<WaitSource<Delivery>> {
  const ids = [...new Set(deliveryIds)];
  // An endpoint that is disabled or deleted cancels its deliveries: that is news of the endpoint. A delivery just made is there
  // only once the read model has it.
  const { feed, readModels, sql } = context.ports;
  await readModels.waitFor(feed.reached, READ_MODEL_WITHIN_MS);
  const rows = await findDeliveries(sql, context.caller.org.id, ids);
  const endpointIds = rows.map(({ endpointId }) => endpointId);
  return {
    ids: [...new Set([...ids, ...endpointIds])],
    find: (after, caller) => findEnded({ ...context, caller }, ids, after),
  };
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
  const sees = await sightOf(context);
  const rows = (await findDeliveries(ports.sql, caller.org.id, ids)).filter(sees);
  if (isThere && rows.length < ids.length) throw notFound('delivery');
  const ended = rows
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
