/**
 * Time travel (`contract.md` 17, `as_of`): an object up to a moment, from its stream; today's rights apply.
 */
import type { z } from 'zod';
import { type Aggregate, streamOf } from '../../commands/kernel/decide-and-append.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { type EventDefinition, type PastFact, readEvent } from '../../commands/values/event.ts';
import { InstantField } from '../../commands/values/input-fields.ts';
import type { Clock } from '../../commands/ports/ports.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';

/** The input field of every read that takes `?as_of=`. */
export const AsOfField: z.ZodOptional<typeof InstantField> = InstantField.optional().describe(
  'The state at this time (RFC 3339), under current rights. Absent = now.',
);

/** The requested moment, null = now. Throws `invalid_request` for one in the future. */
export function momentAsOf(clock: Pick<Clock, 'now'>, asOf: string | undefined): Date | null {
  if (asOf === undefined) return null;
  const moment = new Date(asOf);
  if (moment <= clock.now()) return moment;
  const message = 'This moment is still to come.';
  throw new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'as_of', code: 'custom', message }] },
  });
}

/**
 * The stream folded up to the first event that occurred after `asOf` (null = all of it), so that the state
 * really existed. Null when nothing had occurred by then. Throws `store_unavailable`.
 */
export async function loadAsOf<State, D extends EventDefinition>(
  events: EventStore,
  aggregate: Aggregate<State, D>,
  id: string,
  asOf: Date | null,
): Promise<State | null> {
  let state: State | null = null;
  for (const stored of await events.readStream(streamOf(aggregate, id))) {
    const fact = readEvent(aggregate.catalogue, stored);
    if (fact === null) continue;
    if (asOf !== null && new Date(fact.meta.occurred_at) > asOf) break;
    state = aggregate.evolve(state ?? aggregate.initial, fact as PastFact<D>);
  }
  return state;
}
