/** The gateway as one process: opens the core, keeps the read models, serves both faces. */
import { createServer } from 'node:net';
import type { Log, Ports } from '../commands/kernel/ports.ts';
import { capabilities } from '../read-api/capabilities.ts';
import { openDoors } from '../read-api/http/door.ts';
import { restRouter } from '../read-api/http/rest-router.ts';
import { mcpHandler } from '../mcp/mcp-endpoint.ts';
import { audit } from '../projections/audit.ts';
import { directory } from '../projections/directory.ts';
import { operations } from '../projections/operations.ts';
import { runMailboxConnector } from './background/mailbox-connector.ts';
import { runMailboxEraser } from './background/mailbox-eraser.ts';
import { runOperationSweeper } from './background/operation-sweeper.ts';
import type { Config } from './config.ts';
import { startHttpServer } from './http/http-server.ts';
import { startMetricsServer } from './http/metrics-server.ts';
import { watchGateway } from './observability/gateway-gauges.ts';
import { createMetrics } from './observability/metrics.ts';
import { type CoreOptions, openCore } from './open-core.ts';
import { openDirectConnection } from './postgres/direct-connection.ts';
import { startProjector } from './projector/projector.ts';
import { readinessChecks } from './readiness.ts';
import { startTokenUse } from './token-use.ts';

export interface Gateway extends AsyncDisposable {
  readonly ports: Ports;
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly eventStoreUrl: string;
}

export interface GatewayOptions extends Omit<CoreOptions, 'baseUrl' | 'config' | 'log'> {
  readonly config: Config;
  readonly log: Log;
}

/** Starts everything and resolves when requests are answered. Throws one sentence when a part cannot start. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, log } = options;
  await using opened = new AsyncDisposableStack();
  const port = config.port === 0 ? await freePort(config.host) : config.port;
  const baseUrl = config.baseUrl ?? `http://${config.host}:${String(port)}`;
  const metrics = createMetrics();
  const core = opened.use(await openCore({ ...options, baseUrl, metrics }));
  options.progress?.('Starting the projector and the servers');
  const projector = await startProjector({
    sql: core.ports.sql,
    directConnection: () => openDirectConnection(core.storage.directUrl, 'gateway projector'),
    events: core.ports.events,
    personal: core.ports.personal,
    clock: core.ports.clock,
    projections: [directory, operations, audit],
    metrics,
    log,
  });
  opened.defer(() => projector.close());
  watchGateway(metrics, { directory: core.ports.directory, projector });
  const ports: Ports = { ...core.ports, readModels: projector.readModels };
  const tokenUse = startTokenUse(ports.sql, ports.clock, log);
  opened.defer(() => tokenUse.close());
  const doors = openDoors(ports, {
    allowedOrigins: config.allowedOrigins,
    noteUse: (tokenId) => {
      tokenUse.note(tokenId);
    },
  });
  const rest = restRouter({ registry: capabilities, ports, door: doors.rest });
  const mcp = mcpHandler({ registry: capabilities, ports, door: doors.mcp });
  const checks = readinessChecks(core, projector);
  const http = await startHttpServer({ host: config.host, port, rest, mcp, checks, log, metrics });
  opened.defer(() => http.close());
  if (config.metricsPort !== null) {
    const metricsServer = await startMetricsServer({ port: config.metricsPort, metrics });
    opened.defer(() => metricsServer.close());
  }
  const stopping = new AbortController();
  const loops = [runMailboxConnector, runMailboxEraser, runOperationSweeper].map((run) =>
    run(ports, stopping.signal),
  );
  opened.defer(async () => {
    stopping.abort();
    await Promise.all(loops);
  });
  const stack = opened.move();
  const { databaseUrl, eventStoreUrl } = core.storage;
  return { ports, baseUrl, databaseUrl, eventStoreUrl, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** A port that was free a moment ago: the address is part of tokens, so it must be known before anything listens. */
async function freePort(host: string): Promise<number> {
  const probe = createServer();
  return await new Promise((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, host, () => {
      const address = probe.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      probe.close(() => {
        resolve(port);
      });
    });
  });
}
