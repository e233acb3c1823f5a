/** What the embedded node reads does not wait for what the rest of the gateway asks of the database. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadConfig } from '../../../../infra/process/config.ts';
import { openEventStore } from '../../../../infra/event-store/event-store-client.ts';
import { openStores } from '../../../../infra/process/start-stores.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

describe('the embedded event node', function () {
  this.timeout(90_000);

  it('answers reads while every connection of the gateway is taken', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-own-'));
    const database = await testDatabase();
    try {
      await using opened = new AsyncDisposableStack();
      const config = loadConfig({ DATA_DIR: dataDir, DATABASE_URL: database.url, STORE_PORT: '0' });
      const { pool, eventStoreUrl } = await openStores({ config, log: silentLog }, opened);
      const taken = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
      opened.defer(() => {
        for (const client of taken) client.release();
      });
      const events = openEventStore({ url: eventStoreUrl, log: silentLog, readTimeoutMs: 3_000 });
      opened.defer(() => events.close());
      expect(taken).to.have.length.above(0);
      expect(await events.readStream('nobody-1')).to.deep.equal([]);
    } finally {
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
