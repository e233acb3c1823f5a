/** What Prometheus is told. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly contentType: string;
  text(): Promise<string>;
  requestDone(request: { face: string; capability: string; status: number; seconds: number }): void;
  refusalCounted(code: string): void;
  eventParked(projection: string): void;
  /** Asked for a gauge each time the metrics are read. */
  watch(name: string, help: string, read: () => number): void;
}

/** A registry of its own, so that two gateways in one process do not mix. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
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
    watch: (name, help, read) => {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    },
  };
}
