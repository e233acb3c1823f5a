import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { migrate } from '../../../../infra/postgres/migrate.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';

describe('migrate', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let path: string;
  const write = (name: string, sql: string) => writeFile(join(path, name), sql);
  const run = () => migrate({ url: database.url, folder: pathToFileURL(`${path}/`) });
  const scalar = async (text: string): Promise<unknown> => {
    const client = await openDirectConnection(database.url, 'test');
    try {
      return (await client.query<{ value: unknown }>(text)).rows[0]?.value;
    } finally {
      await client.end();
    }
  };

  beforeEach(async () => {
    database = await testDatabase({ migrated: false });
    path = await mkdtemp(join(tmpdir(), 'gateway-migrations-'));
    await write('0001-one.sql', 'create table vault.one (n int); insert into vault.one values (1);');
    await write('0002-two.sql', 'create table read.two (n int);');
  });
  afterEach(async () => {
    await database.drop();
    await rm(path, { recursive: true });
  });

  it('applies missing files once and in order', async () => {
    expect(await run()).to.deep.equal(['0001-one.sql', '0002-two.sql']);
    expect(await run()).to.deep.equal([]);
    await write('0003-three.sql', 'alter table read.two add column m int;');
    expect(await run()).to.deep.equal(['0003-three.sql']);
    const schemas =
      "select string_agg(nspname, ' ' order by nspname) as value from pg_namespace where nspname in ('log', 'vault', 'work', 'mirror', 'read')";
    expect(await scalar(schemas)).to.equal('log mirror read vault work');
  });

  it('applies each file once when two processes start at once', async () => {
    await write('0003-slow.sql', 'select pg_sleep(0.1); insert into vault.one values (2);');
    const applied = await Promise.all([run(), run()]);
    expect(applied.flat().sort()).to.deep.equal(['0001-one.sql', '0002-two.sql', '0003-slow.sql']);
    expect(await scalar('select count(*)::int as value from vault.one')).to.equal(2);
  });

  it('refuses a changed past migration and applies nothing', async () => {
    await run();
    await write('0001-one.sql', 'create table vault.one (n bigint);');
    await write('0003-three.sql', 'create table read.three (n int);');
    expect((await rejection(run())).message).to.match(
      /^The migration 0001-one\.sql was changed after it was applied/,
    );
    expect(await scalar("select to_regclass('read.three') as value")).to.equal(null);
  });

  it('accepts other line ends for the same migration', async () => {
    await write('0003-three.sql', 'create table read.three\n(n int);\n');
    await run();
    await write('0003-three.sql', 'create table read.three\r\n(n int);\r\n');
    expect(await run()).to.deep.equal([]);
  });

  it('refuses a database of a newer version', async () => {
    await run();
    await rm(join(path, '0002-two.sql'));
    expect((await rejection(run())).message).to.match(
      /has the migration 0002-two\.sql, which this version does not know/,
    );
  });

  it('refuses a new file numbered before an applied one', async () => {
    await run();
    await write('0001-five.sql', 'select 1;');
    expect((await rejection(run())).message).to.equal('Two migrations have the number 0001.');
    await rm(join(path, '0001-five.sql'));
    await write('0000-zero.sql', 'select 1;');
    expect((await rejection(run())).message).to.match(
      /^The migration 0000-zero\.sql is numbered before 0001-one\.sql/,
    );
  });

  it('rolls a failing file back completely and resumes there when it is repaired', async () => {
    await write('0003-three.sql', 'create table read.three (n int); select 1 / 0;');
    expect((await rejection(run())).message).to.equal(
      'The migration 0003-three.sql failed and was rolled back: division by zero',
    );
    expect(await scalar("select to_regclass('read.three') as value")).to.equal(null);
    await write('0003-three.sql', 'create table read.three (n int);');
    expect(await run()).to.deep.equal(['0003-three.sql']);
  });

  it("applies the gateway's own files to an empty database", async () => {
    const applied = await migrate({ url: database.url });
    expect(applied.slice(0, 3)).to.deep.equal(['0001-event-log.sql', '0002-vault.sql', '0003-work.sql']);
  });

  it('gives a finding of before the present epoch where it is why its trail is stopped', async () => {
    await migrate({ url: database.url, upTo: '0029-audit-verifications.sql' });
    await scalar(`
      with watch as (
        insert into vault.audit_watch (version, name, epoch, position, events, mac) values (1, 'a', 2, 9, 9, '')
      ), tree as (
        insert into vault.audit_tree (trail, size, frontier, broken, mac)
        values ('org_same', 3, '', 'root_differs', ''), ('org_other', 3, '', 'key_missing', ''), ('org_well', 3, '', null, '')
        returning trail
      )
      insert into vault.audit_verified (trail, size, verified_at, failed_size, reason)
      select trail, 3, now(), 3, 'root_differs' from tree`);
    await migrate({ url: database.url });
    expect(
      await scalar('select json_object_agg(trail, epoch) as value from vault.audit_verified'),
    ).to.deep.equal({ org_same: 2, org_other: 0, org_well: 0 });
  });
});
