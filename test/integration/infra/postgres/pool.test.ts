import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect } from 'chai';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { CrashLine } from '../../../support/models/crash-line.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';

describe('postgresSql', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;

  before(async () => {
    database = await testDatabase({ migrated: false });
    pool = openPool({ url: database.url, log: silentLog, size: 3, statementTimeoutMs: 2_000 });
    sql = postgresSql(pool);
    await sql.query('create table note (n bigint primary key)');
  });
  beforeEach(() => sql.query('truncate note'));
  after(async () => {
    await pool.end();
    await database.drop();
  });

  const notes = async () => (await sql.query('select n from note order by n')).map((row) => row['n']);

  it('returns bigint columns as text', async () => {
    await sql.query('insert into note values ($1)', [9_007_199_254_740_993n]);
    expect(await notes()).to.deep.equal(['9007199254740993']);
  });

  it('commits a transaction or rolls back all of it', async () => {
    await sql.transaction(async (inside) => {
      await inside.query('insert into note values (1)');
    });
    const failed = sql.transaction(async (inside) => {
      await inside.query('insert into note values (2)');
      throw new Error('decided otherwise');
    });
    expect((await rejection(failed)).message).to.equal('decided otherwise');
    expect(await notes()).to.deep.equal(['1']);
  });

  it('reports a connection lost while idle, and none lost at its end', async () => {
    const lines: unknown[] = [];
    const log = { ...silentLog, warn: (message: string) => void lines.push(message) };
    const short = openPool({ url: database.url, log, size: 2 });
    const query = 'select pg_backend_pid() as pid from pg_sleep(0.05)';
    const [one] = (await short.query<{ pid: number }>(query)).rows;
    const lost = once(short, 'error');
    await sql.query('select pg_terminate_backend($1)', [one?.pid]);
    await lost;
    expect(lines).to.deep.equal(['postgres pool: idle connection lost']);
    // As `pg` tells of a server that stops while the pool says goodbye.
    const ended = short.end();
    short.emit('error', new Error('terminating connection due to administrator command'));
    await ended;
    expect(lines).to.have.length(1);
  });

  it('rolls back only the inner of two transactions', async () => {
    await sql.transaction(async (outer) => {
      await outer.query('insert into note values (1)');
      const inner = outer.transaction(async (inside) => {
        await inside.query('insert into note values (2)');
        await inside.query('insert into note values (1)');
      });
      expect(await rejection(inner)).to.include({ code: '23505' });
      await outer.query('insert into note values (3)');
    });
    expect(await notes()).to.deep.equal(['1', '3']);
  });

  it('fails a transaction in which a statement failed', async () => {
    const swallowing = sql.transaction(async (inside) => {
      await inside.query('insert into note values (1)');
      await rejection(inside.query('select 1 / 0'));
    });
    expect((await rejection(swallowing)).message).to.match(/went on to commit/);
    expect(await notes()).to.deep.equal([]);
  });

  it('keeps its connection when a statement is wrong', async () => {
    const backend = () => sql.query('select pg_backend_pid() as pid');
    const before = await backend();
    expect(await rejection(sql.query('select nothing'))).to.include({ code: '42703' });
    expect(await backend()).to.deep.equal(before);
  });

  it('answers store_unavailable when the connection breaks, in a query and in a transaction, and recovers', async () => {
    const suicide = 'select pg_terminate_backend(pg_backend_pid())';
    expect(await rejection(sql.query(suicide))).to.include({
      code: 'store_unavailable',
      retryAfterSeconds: 2,
    });
    const broken = sql.transaction(async (inside) => {
      await inside.query('insert into note values (1)');
      await inside.query(suicide);
    });
    expect(await rejection(broken)).to.include({ code: 'store_unavailable' });
    expect(await notes()).to.deep.equal([]);
  });

  it('survives a connection that breaks between two statements of a transaction', async () => {
    const broken = sql.transaction(async (inside) => {
      const [row] = await inside.query('select pg_backend_pid() as pid');
      await sql.query('select pg_terminate_backend($1, 1000)', [row?.['pid']]);
      await inside.query('select 1');
    });
    expect(await rejection(broken)).to.include({ code: 'store_unavailable' });
    expect(await notes()).to.deep.equal([]);
  });

  it('survives a connection that breaks during its first settings', async () => {
    const { hostname: host, port } = new URL(database.url);
    const line = await CrashLine.open({ postgres: { host, port: Number(port) } });
    const url = new URL(database.url);
    url.host = `127.0.0.1:${String(line.portOf('postgres'))}`;
    const cut = openPool({ url: url.href, log: silentLog });
    const crashed = line.crashAt({ wire: 'postgres', index: 0, side: 'before' });
    const refused = rejection(postgresSql(cut).query('select 1'));
    await crashed;
    expect(await refused).to.include({ code: 'store_unavailable' });
    expect(line.passed[0]?.label).to.match(/^set statement_timeout/);
    await cut.end();
    await line.close();
  });

  it('ends a statement after its timeout', async () => {
    expect(await rejection(sql.query('select pg_sleep(5)'))).to.include({ code: 'store_unavailable' });
  });

  it('answers store_unavailable when no server listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    server.close();
    await once(server, 'close');
    const away = openPool({ url: `postgres://nobody@127.0.0.1:${String(port)}/none`, log: silentLog });
    expect(await rejection(postgresSql(away).query('select 1'))).to.include({ code: 'store_unavailable' });
    await away.end();
  });
});
