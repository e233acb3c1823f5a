/** One piece of work on a running event node and its database, printed as JSON: fill the log, drain it, seal its lines, rebuild models. */
import { trailLine, trailOf } from '../../commands/audit/audit-line.ts';
import { Frontier } from '../../commands/audit/merkle.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import { type ConnectedEventStore, openEventStore } from '../../infra/event-store/event-store-client.ts';
import { createJsonLog } from '../../infra/observability/json-log.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { openPool, postgresSql } from '../../infra/postgres/pool.ts';
import { READ_MODELS } from '../../infra/projector/read-models.ts';
import { rebuildModels, type RebuildProgress } from '../../infra/projector/rebuild-read-models.ts';
import { systemClock } from '../../infra/platform/system-clock.ts';
import { history } from './history.ts';

export interface WorkerJob {
  readonly databaseUrl: string;
  readonly nodeUrl: string;
  readonly work:
    | { readonly kind: 'grow'; readonly events: number }
    | { readonly kind: 'drain' }
    | { readonly kind: 'seal' }
    | { readonly kind: 'rebuild'; readonly models: readonly string[] };
}

export interface Measured {
  readonly events: number;
  /** Until the last event was applied, or received when nothing is applied. */
  readonly readSeconds: number;
  /** With indexes and swap. */
  readonly totalSeconds: number;
  /** Spent on lines, leaves and trees; 0 for other work. */
  readonly sealSeconds: number;
  /** Peak memory of this process. */
  readonly peakBytes: number;
}

const LANES = 32;
const log = createJsonLog('error');

/** Appends run in parallel; those to one stream run sequentially. */
async function grow(store: ConnectedEventStore, size: number): Promise<number> {
  const appends = history(size);
  const last = new Map<string, Promise<unknown>>();
  const lane = async (): Promise<void> => {
    for (let next = appends.next(); next.done !== true; next = appends.next()) {
      const { stream, expected, events } = next.value;
      const before = last.get(stream);
      const mine = Promise.resolve(before).then(() => store.append(stream, expected, events));
      last.set(stream, mine);
      await mine;
      if (last.get(stream) === mine) last.delete(stream);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return size;
}

async function drain(store: ConnectedEventStore, each: (event: StoredEvent) => void): Promise<number> {
  const ending = new AbortController();
  let events = 0;
  for await (const item of store.subscribeToAll(null, ending.signal)) {
    if (item.kind === 'event') {
      events += 1;
      each(item.event);
    }
    if (item.kind === 'caught-up') break;
  }
  ending.abort();
  return events;
}

/** Adds events to the trees of their trails as the audit model does, and counts what that alone takes. */
class SealingCost {
  readonly #trees = new Map<string, Frontier>();
  #milliseconds = 0;

  get seconds(): number {
    return this.#milliseconds / 1_000;
  }

  add(event: StoredEvent): void {
    const began = performance.now();
    const trail = trailOf(event);
    const tree = this.#trees.get(trail) ?? new Frontier();
    this.#trees.set(trail, tree);
    tree.push(trailLine(event, tree.size + 1).leaf);
    this.#milliseconds += performance.now() - began;
  }
}

async function rebuild(
  store: ConnectedEventStore,
  databaseUrl: string,
  models: readonly string[],
): Promise<{ events: number; readAt: number }> {
  let readAt = performance.now();
  const { events } = await rebuildModels({
    sql: postgresSql(openPool({ url: databaseUrl, log, statementTimeoutMs: 600_000 })),
    events: store,
    personal: { open: (sealed) => Promise.resolve(sealed) },
    clock: systemClock,
    log,
    projections: READ_MODELS.filter(({ name }) => models.includes(name)),
    directConnection: () => openDirectConnection(databaseUrl, 'rebuild, measured'),
    signal: new AbortController().signal,
    report: ({ step }: RebuildProgress) => {
      if (step === 'reading') readAt = performance.now();
    },
  });
  return { events, readAt };
}

const job = JSON.parse(process.argv[2] ?? '{}') as WorkerJob;
const store = openEventStore({ url: job.nodeUrl, log });
const begin = performance.now();
const { work } = job;
const sealing = new SealingCost();
const done =
  work.kind === 'rebuild'
    ? await rebuild(store, job.databaseUrl, work.models)
    : { events: await readOrGrow(work), readAt: performance.now() };
const measured: Measured = {
  events: done.events,
  readSeconds: (done.readAt - begin) / 1_000,
  totalSeconds: (performance.now() - begin) / 1_000,
  sealSeconds: sealing.seconds,
  peakBytes: process.resourceUsage().maxRSS * 1_024,
};
process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit());

function readOrGrow(work: Exclude<WorkerJob['work'], { kind: 'rebuild' }>): Promise<number> {
  if (work.kind === 'grow') return grow(store, work.events);
  return drain(
    store,
    work.kind === 'seal'
      ? (event) => {
          sealing.add(event);
        }
      : () => undefined,
  );
}
