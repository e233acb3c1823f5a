/** The metrics for Prometheus. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type EventStore, WrongExpectedRevision } from '../../commands/ports/event-store.ts';

export interface Metrics {
  readonly contentType: string;
  text(): Promise<string>;
  requestDone(request: { face: string; capability: string; status: number; seconds: number }): void;
  refusalCounted(code: string): void;
  eventParked(projection: string): void;
  appendDone(append: { outcome: 'appended' | 'refused' | 'failed'; seconds: number }): void;
  mailCommandDone(command: { outcome: MailCommandOutcome; seconds: number }): void;
  webhookAttempted(attempt: { outcome: string; seconds: number }): void;
  taskSwept(task: { sweeper: string; outcome: string; seconds: number }): void;
  /** `read` is called each time the metrics are read; null omits the gauge. */
  watch(name: string, help: string, read: () => number | null | Promise<number | null>): void;
  /** As `watch`, for one number per value of a label. */
  watchEach(gauge: LabelledGauge, read: () => ReadonlyMap<string, number>): void;
}

/** `refused`: the server refused. `lost`: the server never answered. */
export type MailCommandOutcome = 'done' | 'refused' | 'lost';

export interface LabelledGauge {
  readonly name: string;
  readonly help: string;
  readonly label: string;
}

/** Uses a separate registry, so that two gateways in one process do not mix. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectProcess(registry);
  const requests = new Histogram({
    name: 'gateway_request_seconds',
    help: 'Time from the request to its answer.',
    labelNames: ['face', 'capability', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const refusals = new Counter({
    name: 'gateway_refusals_counted_total',
    help: 'Refusals that are counted and not recorded one by one.',
    labelNames: ['code'],
    registers,
  });
  const parked = new Counter({
    name: 'gateway_events_parked_total',
    help: 'Events a read model could not apply; each one needs a person.',
    labelNames: ['projection'],
    registers,
  });
  const appends = new Histogram({
    name: 'gateway_append_seconds',
    help: 'Time of an append to the event store; refused = the stream was not at the revision expected.',
    labelNames: ['outcome'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10],
    registers,
  });
  const mailCommands = new Histogram({
    name: 'gateway_mail_command_seconds',
    help: 'Time of a step on the mail server: one IMAP command, or some that belong together.',
    labelNames: ['outcome'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
    registers,
  });
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    requestDone: ({ face, capability, status, seconds }) => {
      requests.observe({ face, capability, status: String(status) }, seconds);
    },
    refusalCounted: (code) => {
      refusals.inc({ code });
    },
    eventParked: (projection) => {
      parked.inc({ projection });
    },
    appendDone: ({ outcome, seconds }) => {
      appends.observe({ outcome }, seconds);
    },
    mailCommandDone: ({ outcome, seconds }) => {
      mailCommands.observe({ outcome }, seconds);
    },
    ...webhooksOf(registers),
    ...sweepersOf(registers),
    ...gaugesOf(registers),
  };
}

/** A day: the sampling of the event loop below cannot be left out. */
const NEVER_SAMPLED_MS = 86_400_000;

/**
 * CPU, memory and event loop of the process. How busy the event loop is comes from the loop itself: samples of its delay would
 * wake an idle process a hundred times a second.
 */
function collectProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_SAMPLED_MS });
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith('nodejs_eventloop_lag')) registry.removeSingleMetric(name);
  let last = performance.eventLoopUtilization();
  new Gauge({
    name: 'gateway_event_loop_utilization',
    help: 'Share of the time since the last scrape in which the event loop was busy, from 0 to 1; near 1, answers wait.',
    registers: [registry],
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, last).utilization);
      last = now;
    },
  });
}

/** Webhooks, one observation for each attempt. */
function webhooksOf(registers: Registry[]): Pick<Metrics, 'webhookAttempted'> {
  const attempts = new Histogram({
    name: 'gateway_webhook_attempt_seconds',
    help: 'Time of one attempt to deliver a webhook; the outcome is `succeeded` or the code of its error.',
    labelNames: ['outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  });
  return {
    webhookAttempted: ({ outcome, seconds }) => {
      attempts.observe({ outcome }, seconds);
    },
  };
}

/** Background work, one observation for each task. */
function sweepersOf(registers: Registry[]): Pick<Metrics, 'taskSwept'> {
  const sweepers = new Histogram({
    name: 'gateway_sweeper_seconds',
    help: 'Time to settle one task of background work; held = another process works on it, later = tried again after a pause.',
    labelNames: ['sweeper', 'outcome'],
    buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
    registers,
  });
  return {
    taskSwept: ({ sweeper, outcome, seconds }) => {
      sweepers.observe({ sweeper, outcome }, seconds);
    },
  };
}

/** Gauges are computed when they are read, so nothing has to keep them current. */
const gaugesOf = (registers: Registry[]): Pick<Metrics, 'watch' | 'watchEach'> => ({
  watch: (name, help, read) => {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const value = await read();
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  },
  watchEach: ({ name, help, label }, read) => {
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset();
        for (const [value, number] of read()) this.set({ [label]: value }, number);
      },
    });
  },
});

/** The same store; every append is reported to the metrics, whatever its outcome. */
export const measureAppends = (events: EventStore, metrics: Pick<Metrics, 'appendDone'>): EventStore => ({
  append: async (streamName, expected, facts) => {
    const begin = performance.now();
    const done = (outcome: 'appended' | 'refused' | 'failed'): void => {
      metrics.appendDone({ outcome, seconds: (performance.now() - begin) / 1_000 });
    };
    try {
      const appended = await events.append(streamName, expected, facts);
      done('appended');
      return appended;
    } catch (error) {
      done(error instanceof WrongExpectedRevision ? 'refused' : 'failed');
      throw error;
    }
  },
  readStream: (streamName, from) => events.readStream(streamName, from),
  readLast: (streamName) => events.readLast(streamName),
  headPosition: () => events.headPosition(),
  readAll: (after, most) => events.readAll(after, most),
  subscribeToAll: (from, signal, filter) => events.subscribeToAll(from, signal, filter),
});
