import { expect } from 'chai';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { createWebhookSecrets } from '../../../../infra/security/webhook-secrets.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { rejection } from '../../../support/suite/rejection.ts';

describe('secrets of webhooks', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;
  const key = randomKey();

  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  it('are 32 random bytes, stored sealed, and read by another process', async () => {
    const { id, secret } = await createWebhookSecrets(sql, key).create('whk_1');
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const [row] = await sql.query<{ sealed: Buffer }>(
      'select sealed from vault.webhook_secret where id = $1',
      [id],
    );
    expect(row?.sealed.includes(secret.slice(6, 20))).to.equal(false);
    expect(await createWebhookSecrets(sql, key).read('whk_1', [id])).to.deep.equal([secret]);
  });

  it('are read in the order asked for, of their own endpoint, without erased ones', async () => {
    const secrets = createWebhookSecrets(sql, key);
    const [first, second] = [await secrets.create('whk_2'), await secrets.create('whk_2')];
    const ids = [second.id, 'unknown', first.id];
    expect(await secrets.read('whk_2', ids)).to.deep.equal([second.secret, first.secret]);
    expect(await secrets.read('whk_3', ids)).to.deep.equal([]);
    await secrets.erase('whk_2');
    expect(await secrets.read('whk_2', ids)).to.deep.equal([]);
  });

  it('open under their own key, and for their own endpoint', async () => {
    const { id } = await createWebhookSecrets(sql, key).create('whk_4');
    expect((await rejection(createWebhookSecrets(sql, randomKey()).read('whk_4', [id]))).message).to.include(
      id,
    );
    await sql.query("update vault.webhook_secret set endpoint_id = 'whk_5' where id = $1", [id]);
    expect((await rejection(createWebhookSecrets(sql, key).read('whk_5', [id]))).message).to.include(id);
  });
});
