/**
 * One piece of work on an event node through the official client, printed as JSON. The node runs in the same
 * process or is already running.
 */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, NO_STREAM, START, jsonEvent } from '@eventstore/db-client';
import type { JSONEventData } from '@eventstore/db-client';
import { percentile } from '../figures.ts';
import { startBenchNode } from './start-node.ts';

export type Work =
  | { readonly kind: 'grow'; readonly events: number }
  | {
      readonly kind: 'measure';
      readonly sequential: number;
      readonly inFlight: number;
      readonly read: number;
    };

export interface WorkerJob {
  readonly databaseUrl: string;
  /** Absent = a node in this process. */
  readonly nodeUrl?: string;
  readonly work: Work;
}

export interface Measured {
  readonly sequentialMs: { readonly p50: number; readonly p99: number };
  readonly appendsPerSecond: number;
  readonly readPerSecond: number;
}

const LANES = 32;
const EVENTS_PER_LARGE_APPEND = 2_000;

/** Fewest events of one reading round, so that the first packets do not dominate a short log. */
const LEAST_READ = 50_000;

/** 286 bytes of JSON, the size used for the figures of a real server. */
const event = (): JSONEventData =>
  jsonEvent({ type: 'Measured', data: { filler: 'x'.repeat(273) }, metadata: {} });

const append = (client: EventStoreDBClient, events: JSONEventData | JSONEventData[]): Promise<unknown> =>
  client.appendToStream(`measured-${randomUUID()}`, events, { expectedRevision: NO_STREAM });

/** Runs `step` `times` times with `lanes` in parallel; returns the rate per second. */
async function rate(times: number, lanes: number, step: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let left = times;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await step();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return times / ((performance.now() - startedAt) / 1_000);
}

async function grow(client: EventStoreDBClient, events: number): Promise<null> {
  const sizes = Array.from({ length: Math.ceil(events / EVENTS_PER_LARGE_APPEND) }, (_unused, index) =>
    Math.min(EVENTS_PER_LARGE_APPEND, events - index * EVENTS_PER_LARGE_APPEND),
  );
  await rate(sizes.length, 4, () => append(client, Array.from({ length: sizes.pop() ?? 0 }, event)));
  return null;
}

async function measure(
  client: EventStoreDBClient,
  work: Extract<Work, { kind: 'measure' }>,
): Promise<Measured> {
  const readPerSecond = await followed(client, work.read);
  await rate(work.inFlight / 4, LANES, () => append(client, event())); // warm
  const times: number[] = [];
  await rate(work.sequential, 1, async () => {
    const begin = performance.now();
    await append(client, event());
    times.push(performance.now() - begin);
  });
  const appendsPerSecond = await rate(work.inFlight, LANES, () => append(client, event()));
  return {
    sequentialMs: { p50: percentile(times, 0.5), p99: percentile(times, 0.99) },
    appendsPerSecond,
    readPerSecond,
  };
}

/** Events per second of catch-up subscriptions to `$all` from the start; a short log is read repeatedly. */
async function followed(client: EventStoreDBClient, events: number): Promise<number> {
  await follow(client, Math.min(events, LEAST_READ / 5)); // warm
  const times = Math.ceil(LEAST_READ / events);
  const perSecond = await rate(times, 1, () => follow(client, events));
  return perSecond * events;
}

async function follow(client: EventStoreDBClient, events: number): Promise<void> {
  const subscription = client.subscribeToAll({ fromPosition: START }, { highWaterMark: 1_000 });
  let seen = 0;
  for await (const { event } of subscription) {
    if (event) seen += 1;
    if (seen === events) break;
  }
  await subscription.unsubscribe().catch(() => undefined); // the end of the loop has already destroyed it
}

const job = JSON.parse(process.argv[2] ?? '{}') as WorkerJob;
const own = job.nodeUrl === undefined ? await startBenchNode(job.databaseUrl) : null;
const client = EventStoreDBClient.connectionString(job.nodeUrl ?? own?.url ?? '');
const result =
  job.work.kind === 'grow' ? await grow(client, job.work.events) : await measure(client, job.work);
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
