import { expect } from 'chai';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { createPersonalData } from '../../../../infra/security/personal-data.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const ERASE = 'update vault.personal_key set wrapped = null, erased_at = now() where owner_id = $1';

describe('personal data', function () {
  this.timeout(20_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;
  const masterKey = randomKey();
  const clock = new ManualClock();
  const process = () => createPersonalData({ sql, clock, masterKey });

  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  it('is opened by another process than the one that sealed it', async () => {
    const sealed = await process().seal('usr_1', 'Zoë Lindqvist');
    expect(sealed).to.match(/^sealed\.v2\.usr_1\.[A-Za-z0-9_-]{43}\.[A-Za-z0-9_-]+$/);
    expect(sealed).not.to.include('Lindqvist');
    expect(await process().open(sealed)).to.equal('Zoë Lindqvist');
  });

  it('has one key per owner, also when many processes seal first at once', async () => {
    const sealed = await Promise.all(
      Array.from({ length: 8 }, (_, n) => process().seal('usr_race', String(n))),
    );
    const opener = process();
    const opened = await Promise.all(sealed.map((text) => opener.open(text)));
    expect(opened).to.deep.equal(['0', '1', '2', '3', '4', '5', '6', '7']);
  });

  it(`is unreadable within a minute everywhere when the key is erased ${verifies('contract:12:sealed')}`, async () => {
    const elsewhere = process();
    const sealed = await elsewhere.seal('usr_2', 'gone soon');
    const other = await elsewhere.seal('usr_3', 'stays');
    await sql.query(ERASE, ['usr_2']);
    expect(await process().open(sealed)).to.equal(null);
    clock.step(-3_600_000);
    clock.advance(60_000);
    expect(await elsewhere.open(sealed)).to.equal(null);
    expect(await elsewhere.open(other)).to.equal('stays');
  });

  it('gets no new key for an erased owner', async () => {
    await process().seal('usr_4', 'first');
    await sql.query(ERASE, ['usr_4']);
    const afterwards = await process().seal('usr_4', 'second');
    expect(await process().open(afterwards)).to.equal(null);
    expect(await sql.query("select wrapped from vault.personal_key where owner_id = 'usr_4'")).to.deep.equal([
      { wrapped: null },
    ]);
  });

  it('is refused when it is altered, not sealed or stored under another owner', async () => {
    const personal = process();
    const sealed = await personal.seal('usr_5', 'text');
    await personal.seal('usr_6', 'makes a key');
    const [, , , commitment = '', box = ''] = sealed.split('.');
    const altered = (box.startsWith('A') ? 'B' : 'A') + box.slice(1);
    for (const wrong of [
      `sealed.v2.usr_5.${commitment}.${altered}`,
      `sealed.v2.usr_6.${commitment}.${box}`,
      `sealed.v2.usr_9.${commitment}.${box}`,
      'text',
      '',
    ]) {
      expect(await personal.open(wrong as Sealed), wrong).to.equal(null);
    }
  });
});
