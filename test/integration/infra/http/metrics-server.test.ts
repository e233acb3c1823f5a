import { expect } from 'chai';
import { type MetricsServer, startMetricsServer } from '../../../../infra/http/metrics-server.ts';
import { createMetrics, type Metrics } from '../../../../infra/observability/metrics.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('the metrics listener', () => {
  let metrics: Metrics;
  let server: MetricsServer;

  beforeEach(async () => {
    metrics = createMetrics();
    server = await startMetricsServer({ host: '127.0.0.1', port: 0, metrics });
  });
  afterEach(() => server.close());

  const ask = (path: string, method = 'GET') =>
    fetch(`http://127.0.0.1:${String(server.port)}${path}`, { method });

  it(`exposes the measurements to Prometheus ${verifies('contract:20:metrics-port')}`, async () => {
    metrics.requestDone({ face: 'mcp', capability: 'get_identity', status: 200, seconds: 0.004 });
    metrics.refusalCounted('rate_limited');
    metrics.eventParked('audit');
    metrics.watch('gateway_probe', 'A number.', () => 42);
    const response = await ask('/metrics');
    expect(response.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    expect(text.split('\n')).to.include.members([
      'gateway_request_seconds_bucket{le="0.0025",face="mcp",capability="get_identity",status="200"} 0',
      'gateway_request_seconds_bucket{le="0.005",face="mcp",capability="get_identity",status="200"} 1',
      'gateway_refusals_counted_total{code="rate_limited"} 1',
      'gateway_events_parked_total{projection="audit"} 1',
      'gateway_probe 42',
    ]);
    expect(text).to.include('process_resident_memory_bytes');
  });

  it('answers 404 for every other path', async () => {
    for (const [path, method] of [
      ['/', 'GET'],
      ['/metrics', 'POST'],
      ['/metrics/x', 'GET'],
      ['/api/v1/identity', 'GET'],
      ['/health/live', 'GET'],
    ] as const) {
      expect((await ask(path, method)).status, path).to.equal(404);
    }
  });

  it(`listens on METRICS_HOST ${verifies('contract:20:metrics-host')}`, async () => {
    const other = await startMetricsServer({ host: '127.0.0.2', port: server.port, metrics });
    try {
      const answer = await fetch(`http://127.0.0.2:${String(server.port)}/metrics`);
      expect([answer.status, other.port]).to.deep.equal([200, server.port]);
      await answer.text();
    } finally {
      await other.close();
    }
    const { message } = await rejection(startMetricsServer({ host: '192.0.2.1', port: 0, metrics }));
    expect(message).to.match(/^Cannot listen on port 0 of 192\.0\.2\.1.* METRICS_HOST\.$/);
  });

  it('omits a number that is unknown now', async () => {
    let value: number | null = 1;
    metrics.watch('gateway_sometimes', 'A number.', () => Promise.resolve(value));
    const text = async () => await (await ask('/metrics')).text();
    expect(await text()).to.include('gateway_sometimes 1');
    value = null;
    expect(await text()).not.to.match(/^gateway_sometimes/m);
    value = 2;
    expect(await text()).to.include('gateway_sometimes 2');
  });

  it('separates the numbers of two gateways', async () => {
    createMetrics().refusalCounted('rate_limited');
    expect(await (await ask('/metrics')).text()).not.to.include('gateway_refusals_counted_total{');
  });

  it('reports a taken port in one sentence', async () => {
    const { message } = await rejection(
      startMetricsServer({ host: '127.0.0.1', port: server.port, metrics }),
    );
    expect(message).to.match(/^Cannot listen on port \d+ of 127\.0\.0\.1/);
  });
});
