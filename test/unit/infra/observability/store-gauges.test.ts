import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect } from 'chai';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { createMetrics, type Metrics } from '../../../../infra/observability/metrics.ts';
import { watchStores } from '../../../../infra/observability/store-gauges.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const ROW = {
  approvals_waiting: '4',
  oldest_approval: '61.5',
  approvals_expired: '3',
  operations_unknown: '2',
  sends_waiting: '1',
};

describe('watchStores', () => {
  let metrics: Metrics;
  let failure: Error | null;
  let asked: number;
  let isFull: boolean;

  beforeEach(() => {
    metrics = createMetrics();
    failure = null;
    asked = 0;
    isFull = false;
    const query = () => {
      asked += 1;
      return failure === null ? Promise.resolve([ROW]) : Promise.reject(failure);
    };
    watchStores(metrics, {
      sql: { query } as unknown as Sql,
      clock: systemClock,
      pool: { totalCount: 7, idleCount: 5, waitingCount: 6 },
      space: { isFull: () => (failure === null ? Promise.resolve(isFull) : Promise.reject(failure)) },
      dataDir: tmpdir(),
    });
  });

  const lines = async (): Promise<string[]> => (await metrics.text()).split('\n');
  const valueOf = async (name: string): Promise<number> =>
    Number((await lines()).find((line) => line.startsWith(`${name} `))?.split(' ')[1]);

  it(`reports waiting work, connections and disk with one query per scrape ${verifies('contract:20:metrics')}`, async () => {
    expect(await lines()).to.include.members([
      'gateway_store_full 0',
      'gateway_postgres_connections{state="idle"} 5',
      'gateway_postgres_connections{state="busy"} 2',
      'gateway_postgres_waiting 6',
      'gateway_approvals_waiting 4',
      'gateway_approvals_oldest_waiting_seconds 61.5',
      'gateway_approvals_expired_undecided 3',
      'gateway_operations_unknown 2',
      'gateway_sends_waiting 1',
    ]);
    expect(asked).to.equal(1);
    const { blocks, bsize } = await statfs(tmpdir());
    expect(await valueOf('gateway_disk_size_bytes')).to.equal(blocks * bsize);
    expect(await valueOf('gateway_disk_free_bytes')).to.be.within(1, blocks * bsize);
  });

  it(`reports a full store ${verifies('contract:20:no-space')}`, async () => {
    isFull = true;
    expect(await valueOf('gateway_store_full')).to.equal(1);
  });

  it('omits database values when the database is unavailable, and reports every other failure', async () => {
    failure = new GatewayError('store_unavailable', 'away');
    const text = await metrics.text();
    expect(text).not.to.match(/^gateway_(approvals|operations|sends|store_full)\w* /m);
    expect(text).to.match(/^gateway_disk_free_bytes \d+/m);
    failure = new Error('a defect');
    expect((await rejection(metrics.text())).message).to.equal('a defect');
    failure = null;
    expect(await valueOf('gateway_approvals_waiting')).to.equal(4);
  });
});
