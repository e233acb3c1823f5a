import { expect } from 'chai';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { commitmentOf, createPersonalData, listKeyOwners } from '../../../../infra/security/personal-data.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { textOf } from '../../../../commands/ports/statement.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('personal data', function () {
  this.timeout(60_000);
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
    const eraser = process();
    expect(await eraser.open(sealed)).to.equal('gone soon');
    await eraser.erase('usr_2');
    expect(await eraser.open(sealed)).to.equal(null);
    expect(await process().open(sealed)).to.equal(null);
    expect(await elsewhere.prove(sealed)).to.have.property('text', 'gone soon');
    expect(await elsewhere.afresh().prove(sealed)).to.equal('erased');
    clock.step(-3_600_000);
    clock.advance(60_000);
    expect(await elsewhere.open(sealed)).to.equal(null);
    expect(await elsewhere.open(other)).to.equal('stays');
  });

  it('is shown with the salt it committed to, or told as erased', async () => {
    const sealed = await process().seal('usr_9', 'an address');
    const proven = await process().prove(sealed);
    if (proven === null || proven === 'erased' || proven.salt === null) throw new Error('not proven');
    expect(proven.text).to.equal('an address');
    expect(sealed.split('.')[3]).to.equal(commitmentOf(proven.salt, Buffer.from(proven.text)));
    expect(process().ownerOf(sealed)).to.equal('usr_9');
    expect(process().ownerOf('an address')).to.equal(null);
    // Without a key nobody knows whether there ever was one.
    expect(await process().prove(sealed.replace('usr_9', 'usr_none') as Sealed)).to.equal(null);
    await process().erase('usr_9');
    const reader = process();
    expect(await reader.prove(sealed)).to.equal('erased');
    expect(await reader.prove(sealed)).to.equal('erased');
  });

  it('gets no new key for an erased owner', async () => {
    await process().seal('usr_4', 'first');
    // The second one had no key yet.
    for (const owner of ['usr_4', 'usr_7']) {
      expect(await process().isErased(owner)).to.equal(false);
      await process().erase(owner);
      await process().erase(owner);
      expect(await process().isErased(owner)).to.equal(true);
      const afterwards = await process().seal(owner, 'second');
      expect(await process().open(afterwards)).to.equal(null);
      const keys = await sql.query('select wrapped from vault.personal_key where owner_id = $1', [owner]);
      expect(keys).to.deep.equal([{ wrapped: null }]);
    }
  });

  it('stays unreadable here when the key was being loaded while it was erased', async () => {
    const sealed = await process().seal('usr_8', 'gone');
    const late = Promise.withResolvers<undefined>();
    const slow: Sql = {
      query: async (text, parameters) => {
        const rows = await sql.query(text, parameters);
        if (textOf(text).startsWith('select')) await late.promise;
        return rows as never;
      },
      transaction: (work) => sql.transaction(work),
    };
    const personal = createPersonalData({ sql: slow, clock, masterKey });
    const opened = personal.open(sealed);
    await personal.erase('usr_8');
    late.resolve(undefined);
    expect(await opened).to.equal(null);
    expect(await personal.open(sealed)).to.equal(null);
  });

  it('lists the owners of one kind that have had a key for a time', async () => {
    const ids = ['inv_1', 'inv_2', 'inv_3'];
    for (const id of ids) await process().seal(id, 'text');
    await process().erase('inv_2');
    const given = { prefix: 'inv_', before: new Date(Date.now() + 60_000), except: ['inv_3'], limit: 10 };
    expect(await listKeyOwners(sql, given)).to.deep.equal(['inv_1']);
    expect(await listKeyOwners(sql, { ...given, before: new Date(0) })).to.deep.equal([]);
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
