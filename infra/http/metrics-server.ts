/** `/metrics` and nothing else, on a listener of its own. */
import { once } from 'node:events';
import http from 'node:http';
import { portRefused } from '../platform/reserved-port.ts';
import type { Metrics } from '../observability/metrics.ts';

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** The setting to change when the port is in use. */
export const METRICS_SETTINGS = 'METRICS_PORT or METRICS_HOST';

/** Far more than the scrapers that use it. */
const MAX_CONNECTIONS = 64;

/** Resolves when the server listens on the port (0 = any free one). Throws a one-sentence error when it cannot. */
export async function startMetricsServer({
  host,
  port,
  metrics,
}: {
  host: string;
  port: number;
  metrics: Metrics;
}): Promise<MetricsServer> {
  const server = http.createServer((request, response) => {
    if (request.url !== '/metrics' || request.method !== 'GET') {
      response.writeHead(404).end();
      return;
    }
    metrics.text().then(
      (text) => response.writeHead(200, { 'Content-Type': metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new Error(portRefused(host, port, METRICS_SETTINGS), { cause });
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
