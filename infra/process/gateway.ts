/**
 * A gateway process in its roles: opens the core, follows or leads the read models, serves the adapters,
 * works on mailboxes.
 */
import type { Log, Ports } from '../../commands/ports/ports.ts';
import { runSweepers } from '../background/run-sweepers.ts';
import { within } from '../concurrency/within.ts';
import type { Config } from './config.ts';
import { startHttpServer } from '../http/http-server.ts';
import { METRICS_SETTINGS, startMetricsServer } from '../http/metrics-server.ts';
import { type AdapterOptions, openAdapters } from '../http/open-adapters.ts';
import { freePort, requireFree } from '../platform/reserved-port.ts';
import { runMailboxWorkers } from '../mail-sync/mailbox-workers.ts';
import type { SyncTimes } from '../mail-sync/sync-times.ts';
import { watchDeliveries, watchGateway, watchSealing } from '../observability/gateway-gauges.ts';
import { createMetrics, type Metrics } from '../observability/metrics.ts';
import { watchStores } from '../observability/store-gauges.ts';
import { type Core, type CoreOptions, openCore } from './composition.ts';
import { openDirectConnection } from '../postgres/direct-connection.ts';
import { leaseTimes } from '../postgres/leases.ts';
import { type Projector, startProjector } from '../projector/projector.ts';
import { DeliveryWorker } from '../webhooks/delivery-worker.ts';
import { runDeliveryQueue } from '../webhooks/delivery-queue.ts';
import { READ_MODELS } from '../projector/read-models.ts';
import type { Checks } from '../http/health-router.ts';
import { MOST_COUNTED } from '../projector/lag.ts';

export interface Gateway extends AsyncDisposable {
  readonly ports: Ports;
  /** The address on which this process listens. */
  readonly address: string;
  /** The address that callers use: the same for all replicas. */
  readonly baseUrl: string;
  /** False when only health checks are answered. */
  readonly hasFaces: boolean;
  readonly databaseUrl: string;
  readonly directUrl: string;
  readonly eventStoreUrl: string;
  /** The same event store, for processes beside this one. */
  readonly sharedEventStoreUrl: string;
}

export interface GatewayOptions extends Omit<CoreOptions, 'baseUrl' | 'config' | 'log'> {
  readonly config: Config;
  readonly log: Log;
  /** The intervals of the mailbox workers; tests shorten them. */
  readonly mailTimes?: Partial<SyncTimes>;
}

/**
 * Starts everything and resolves when requests are answered. Throws one sentence when a part cannot start.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, log } = options;
  const { host, roles } = config;
  await using opened = new AsyncDisposableStack();
  // Tokens contain the address, so the port must be known before anything listens.
  const port = config.port === 0 ? await freePort(host) : config.port;
  await requirePorts(config);
  const address = `http://${host}:${String(port)}`;
  const baseUrl = config.baseUrl ?? address;
  const metrics = createMetrics();
  const edge = { trustedProxies: config.trustedProxies, maxConnections: config.maxConnections };
  // Health checks show the supervisor that the process lives while it waits for its stores.
  const http = await startHttpServer({ host, port, log, metrics, ...edge });
  opened.defer(() => http.close());
  const core = opened.use(await openCore({ ...options, baseUrl, metrics }));
  options.progress?.('Starting the projector and the servers');
  const projector = await startReadModels(core, { log, metrics, leads: roles.has('projector') });
  opened.defer(() => projector.close());
  const { directory, mail, sql, clock } = core.ports;
  watchGateway(metrics, { directory, projector, mail });
  watchStores(metrics, { ...core.storage, sql, clock, dataDir: config.dataDir });
  const ports: Ports = { ...core.ports, readModels: projector.readModels };
  watchSealing(metrics, core.ports.seals);
  await core.ports.feed.start();
  const { allowedOrigins, systemMail } = config;
  const { directUrl } = core.storage;
  const oauth = authorizationServerOf(config, core);
  const faces = roles.has('api')
    ? openAdapters({ ports, directUrl, allowedOrigins, systemMail, oauth }, opened)
    : null;
  const worker = roles.has('webhooks') ? openWorker(ports, core, metrics, config) : null;
  http.serve({ faces, checks: readinessChecks(core, projector, worker) });
  // Closed before the parts that its calls depend on.
  opened.defer(() => http.close());
  // Ended before the listener waits for open calls.
  opened.defer(() => {
    core.ports.feed.end();
  });
  if (config.metricsPort !== null) {
    const metricsServer = await startMetricsServer({
      host: config.metricsHost,
      port: config.metricsPort,
      metrics,
    });
    opened.defer(() => metricsServer.close());
  }
  if (roles.has('mail'))
    opened.defer(
      startBackground(ports, core, metrics, { ...leaseTimes(config.leaseMs), ...options.mailTimes }),
    );
  if (worker !== null) opened.defer(startWebhooks(ports, core, worker));
  const stack = opened.move();
  const { databaseUrl, eventStoreUrl, sharedEventStoreUrl } = core.storage;
  const stores = { databaseUrl, directUrl, eventStoreUrl, sharedEventStoreUrl };
  const facts = { ports, address, baseUrl, hasFaces: faces !== null, ...stores };
  return { ...facts, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Throws one sentence for a configured port that another program uses. */
export async function requirePorts({ host, port, metricsHost, metricsPort }: Config): Promise<void> {
  if (port !== 0) await requireFree(host, port);
  if (metricsPort !== null) await requireFree(metricsHost, metricsPort, METRICS_SETTINGS);
}

const authorizationServerOf = (config: Config, { storage }: Core): AdapterOptions['oauth'] => ({
  masterKey: storage.masterKey,
  signingKeys: storage.vault.signingKeys,
  egressAllow: config.egressAllowOauth,
  selfRegistration: config.oauthSelfRegistration,
});

function startReadModels(
  core: Core,
  options: { readonly log: Log; readonly metrics: Metrics; readonly leads: boolean },
): Promise<Projector> {
  return startProjector({
    ...options,
    sql: core.ports.sql,
    directConnection: () => openDirectConnection(core.storage.directUrl, 'gateway projector'),
    events: core.ports.events,
    personal: core.ports.personal,
    clock: core.ports.clock,
    projections: READ_MODELS,
  });
}

function openWorker(ports: Ports, core: Core, metrics: Metrics, config: Config): DeliveryWorker {
  const { deliveryLog } = core.ports;
  const { directUrl } = core.storage;
  const concurrency = config.webhookConcurrency;
  const worker = new DeliveryWorker({ ports, deliveryLog, directUrl, concurrency, metrics });
  watchDeliveries(metrics, worker);
  return worker;
}

/** Queues and delivers webhooks; the returned function ends both. */
function startWebhooks(ports: Ports, core: Core, worker: DeliveryWorker): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { directUrl } = core.storage;
  const directConnection = () => openDirectConnection(directUrl, 'gateway webhook queue');
  const loops = [runDeliveryQueue({ ...ports, directConnection }, signal), worker.run(signal)];
  return async () => {
    stopping.abort();
    await Promise.all(loops);
  };
}

/** Starts the loops; the returned function ends them. */
function startBackground(
  ports: Ports,
  core: Core,
  metrics: Metrics,
  times: Partial<SyncTimes>,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { directory, mail: gateway, mailIndex: index } = core.ports;
  const workers = { ports, directory, gateway, index, directUrl: core.storage.directUrl, times };
  const loops = [
    runMailboxWorkers(workers, signal),
    runSweepers(ports, { rights: directory, metrics, sealer: core.ports.seals }, signal),
  ];
  return async () => {
    stopping.abort();
    await Promise.all(loops);
  };
}

/** A read model further behind shows a past that callers would take for the present. */
const MOST_LAG_SECONDS = 30;
/** A webhook that is due waits no longer. Health shows it; a process that is behind still answers callers. */
const MOST_WEBHOOK_LAG_SECONDS = 60;
const WEBHOOK_LAG_WITHIN_MS = 1_000;
const SEALING_WITHIN_MS = 1_000;

/** Named checks. Each resolves with public facts, or throws the problem. */
export const readinessChecks = (
  { ports, storage }: Core,
  projector: Projector,
  worker: Pick<DeliveryWorker, 'lagSeconds'> | null = null,
): Checks => ({
  database: async () => {
    await ports.sql.query('select 1');
    return {};
  },
  event_store: async () => {
    if (storage.events.trouble !== null) throw new Error(storage.events.trouble);
    await ports.events.headPosition();
    return {};
  },
  space: async () => {
    await storage.space.check();
    return {};
  },
  directory: async () => {
    if (!(await ports.directory.untilCurrent())) throw new Error('this process may lack a change of rights');
    return {};
  },
  projector: async () => {
    const { leader, lagEvents, lagSeconds } = projector.status();
    if (lagSeconds > MOST_LAG_SECONDS) throw new Error(behind(lagEvents, lagSeconds));
    return { leader };
  },
  // An operator has to look, and callers are answered all the same: the process stays ready.
  audit: async () => ({
    sealing: await within(SEALING_WITHIN_MS, ports.seals.state(), 'late').catch(() => 'unknown'),
  }),
  ...(worker !== null && {
    webhooks: async () => {
      // A lag that cannot be read counts as too long.
      const lag = await within(WEBHOOK_LAG_WITHIN_MS, worker.lagSeconds(), 'late').catch(() => Infinity);
      return { behind: lag > MOST_WEBHOOK_LAG_SECONDS };
    },
  }),
});

function behind(events: number, seconds: number): string {
  const age = `${seconds.toFixed(0)} s`;
  // No waiting event is known: the position could not be read for that long.
  if (events === 0) return `how far the read models are has not been known for ${age}`;
  const count = `${events >= MOST_COUNTED ? 'at least ' : ''}${String(events)}`;
  return `the read models are ${age} behind the log (${count} events wait)`;
}
