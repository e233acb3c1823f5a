import { argon2Sync } from 'node:crypto';
import { expect } from 'chai';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { createSecrets } from '../../../../infra/security/secrets.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import type { Secrets } from '../../../../commands/ports/sign-in-port.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';

describe('the secret store', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;
  let secrets: Secrets;

  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
    secrets = createSecrets(sql, randomKey());
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  it('keeps the newest credentials of a mailbox until they are erased', async () => {
    expect(await secrets.loadMailCredentials('mbx_1')).to.equal(null);
    await secrets.saveMailCredentials('mbx_1', { kind: 'password', username: 'ann', password: 'old' });
    await secrets.saveMailCredentials('mbx_1', { kind: 'password', username: 'ann', password: 'pässword' });
    expect(await secrets.loadMailCredentials('mbx_1')).to.deep.equal({
      kind: 'password',
      username: 'ann',
      password: 'pässword',
    });
    await secrets.eraseMailCredentials('mbx_1');
    expect(await secrets.loadMailCredentials('mbx_1')).to.equal(null);
  });

  it('opens credentials for their own mailbox and under their own key only', async () => {
    await secrets.saveMailCredentials('mbx_2', { kind: 'password', username: 'ann', password: 'p' });
    await sql.query(
      "insert into vault.mail_credentials select 'mbx_3', sealed from vault.mail_credentials where mailbox_id = 'mbx_2'",
    );
    expect((await rejection(secrets.loadMailCredentials('mbx_3'))).message).to.match(
      /mbx_3 were not sealed for it/,
    );
    await rejection(createSecrets(sql, randomKey()).loadMailCredentials('mbx_2'));
  });

  it('stores a password as argon2id with a salt of its own', async () => {
    for (const userId of ['usr_1', 'usr_2']) {
      await secrets.savePassword(userId, await secrets.hashPassword('correct horse battery'));
    }
    const rows = await sql.query<{ argon2id: string }>(
      'select argon2id from vault.password order by user_id',
    );
    const [first = '', second = ''] = rows.map((row) => row.argon2id);
    expect(first).not.to.equal(second);

    const [, algorithm, version, parameters, salt = '', tag = ''] = first.split('$');
    expect([algorithm, version, parameters]).to.deep.equal(['argon2id', 'v=19', 'm=19456,t=2,p=1']);
    const expected = argon2Sync('argon2id', {
      message: 'correct horse battery',
      nonce: Buffer.from(salt, 'base64'),
      memory: 19_456,
      passes: 2,
      parallelism: 1,
      tagLength: 32,
    });
    expect(Buffer.from(tag, 'base64').equals(expected)).to.equal(true);
  });

  it('detects that a correct password was replaced since, even by the same one', async () => {
    const set = async () =>
      secrets.savePassword('usr_3', await secrets.hashPassword('correct horse battery'));
    await set();
    expect(await secrets.verifyPassword('usr_3', 'wrong horse battery')).to.equal(null);
    expect(await secrets.verifyPassword(null, 'correct horse battery')).to.equal(null);
    const verified = await secrets.verifyPassword('usr_3', 'correct horse battery');
    expect(await verified?.isCurrent()).to.equal(true);
    await set();
    expect(await verified?.isCurrent()).to.equal(false);
  });
});
