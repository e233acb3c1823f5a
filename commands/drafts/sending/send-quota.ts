/** How many mails an agent may send in an hour (`contract.md` 15): counted before the intent, so that a race cannot pass it. */
import { z } from 'zod';
import {
  type Aggregate,
  type Author,
  decideAndAppend,
  loadAggregate,
} from '../../kernel/decide-and-append.ts';
import { GatewayError } from '../../kernel/errors.ts';
import { catalogueOf, defineEvent, type Fact } from '../../kernel/event.ts';
import type { Ports } from '../../kernel/ports.ts';

export const QuotaTaken = defineEvent({
  type: 'QuotaTaken',
  summary: 'A send was counted against the quota of its hour.',
  data: z.object({ operation_id: z.string() }),
});

export const QuotaGivenBack = defineEvent({
  type: 'QuotaGivenBack',
  summary: 'A send that surely did not happen no longer counts.',
  data: z.object({ operation_id: z.string() }),
});

export const quotaEvents = [QuotaTaken, QuotaGivenBack] as const;

type QuotaFact = Fact<(typeof quotaEvents)[number]>;

interface QuotaState {
  readonly taken: ReadonlySet<string>;
  readonly givenBack: ReadonlySet<string>;
}

const quota: Aggregate<QuotaState, (typeof quotaEvents)[number]> = {
  category: 'quota',
  catalogue: catalogueOf(quotaEvents),
  initial: { taken: new Set(), givenBack: new Set() },
  evolve: ({ taken, givenBack }, { type, data: { operation_id } }) =>
    type === 'QuotaTaken'
      ? { taken: new Set(taken).add(operation_id), givenBack }
      : { taken, givenBack: new Set(givenBack).add(operation_id) },
};

const HOUR_MS = 3_600_000;

/** `<principal>-<yyyymmddhh>`, the hour in UTC. */
const hourOf = (principalId: string, at: Date): string =>
  `${principalId}-${at.toISOString().slice(0, 13).replaceAll(/[-T]/g, '')}`;

type Writers = Pick<Ports, 'events' | 'ids' | 'clock' | 'server'>;

/** Throws `quota_exceeded` for a send that `takeQuota` would refuse now, so that nothing is made ready for it. */
export async function assertQuotaLeft(
  { events, clock, server }: Writers,
  principalId: string,
  operationId: string,
): Promise<void> {
  const now = clock.now();
  const { state } = await loadAggregate(events, quota, hourOf(principalId, now));
  decideTaking(state, operationId, { now, most: server.limits.sendsPerHour });
}

/** Counts one send of this hour. Throws `quota_exceeded`; the same operation counts once. */
export async function takeQuota(
  ports: Writers,
  author: Author,
  principalId: string,
  operationId: string,
): Promise<void> {
  const now = ports.clock.now();
  const limit = { now, most: ports.server.limits.sendsPerHour };
  await decideAndAppend(ports, author, quota, {
    id: hourOf(principalId, now),
    decide: (state) => decideTaking(state, operationId, limit),
  });
}

function decideTaking(
  { taken, givenBack }: QuotaState,
  operationId: string,
  { now, most }: { readonly now: Date; readonly most: number },
): readonly QuotaFact[] {
  if (taken.has(operationId)) return [];
  if (taken.size - givenBack.size >= most) throw exceeded(now, most);
  return [{ type: 'QuotaTaken', data: { operation_id: operationId } }];
}

/** What was taken for an operation of this time counts no longer. Harmless when nothing was taken. */
export async function giveQuotaBack(
  ports: Writers,
  author: Author,
  principalId: string,
  operation: { readonly id: string; readonly intendedAt: Date },
): Promise<void> {
  // It was taken a moment before the intent, which may have been in the hour before.
  const { id, intendedAt } = operation;
  for (const at of [intendedAt, new Date(intendedAt.getTime() - HOUR_MS)]) {
    await decideAndAppend(ports, author, quota, {
      id: hourOf(principalId, at),
      decide: ({ taken, givenBack }): readonly QuotaFact[] =>
        taken.has(id) && !givenBack.has(id) ? [{ type: 'QuotaGivenBack', data: { operation_id: id } }] : [],
    });
  }
}

function exceeded(now: Date, most: number): GatewayError {
  const left = HOUR_MS - (now.getTime() % HOUR_MS);
  return new GatewayError('quota_exceeded', `An agent may send ${String(most)} mails in an hour.`, {
    details: { quota: 'sends_per_hour', limit: most },
    retryAfterSeconds: Math.ceil(left / 1_000),
  });
}
