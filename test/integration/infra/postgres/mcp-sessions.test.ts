import { expect } from 'chai';
import { PostgresMcpSessions } from '../../../../infra/postgres/mcp-sessions.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { textOf } from '../../../../commands/ports/statement.ts';
import type { McpSession } from '../../../../commands/ports/mcp.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const session = (id: string, tokenId = 'tok_1'): McpSession => ({
  id,
  tokenId,
  orgId: 'org_1',
  principalId: 'agt_1',
  revision: '2025-11-25',
  advancedTools: false,
});

describe('MCP sessions', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;
  let clock: ManualClock;
  let statements: string[];
  let sessions: PostgresMcpSessions;

  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });
  beforeEach(async () => {
    await sql.query('truncate vault.mcp_session');
    clock = new ManualClock();
    statements = [];
    const watched: Sql = {
      query: (text, parameters) => {
        statements.push(textOf(text).trim().split(' ')[0] ?? '');
        return sql.query(text, parameters);
      },
      transaction: (work) => sql.transaction(work),
    };
    sessions = new PostgresMcpSessions(watched, clock, silentLog);
  });
  afterEach(() => {
    sessions.close();
  });

  it('are returned by their id, and by no other', async () => {
    await sessions.create(session('s-1'));
    expect(await sessions.find('s-1', 0)).to.deep.equal(session('s-1'));
    expect(await sessions.find('s-2', 0)).to.equal(null);
  });

  it('are stored without a usable id', async () => {
    await sessions.create(session('secret-session-id'));
    const rows = await sql.query('select * from vault.mcp_session');
    expect(JSON.stringify(rows)).not.to.include('secret-session-id');
    expect(rows[0]?.['id_sha256']).to.have.length(32);
  });

  it(`end 24 hours after their last use, not after their start ${verifies('contract:16:session-expired', 'contract:16:session-slides', 'contract:16:session-lifetime')}`, async () => {
    await sessions.create(session('s'));
    clock.advance(23 * HOUR);
    expect(await sessions.find('s', 0)).not.to.equal(null);
    clock.advance(23 * HOUR);
    expect(await sessions.find('s', 0)).not.to.equal(null);
    clock.advance(24 * HOUR);
    expect(await sessions.find('s', 0)).to.equal(null);
    expect(await sessions.find('s', HOUR), 'nor as a copy').to.equal(null);
  });

  it('are touched at most once a minute', async () => {
    await sessions.create(session('s'));
    statements.length = 0;
    for (let call = 0; call < 6; call += 1) {
      clock.advance(20_000);
      await sessions.find('s', 0);
    }
    expect(statements.filter((verb) => verb === 'update')).to.have.length(2);
  });

  it('are cached up to the requested age', async () => {
    await sessions.create(session('s'));
    await sessions.find('s', 1_000);
    statements.length = 0;
    clock.advance(900);
    await sessions.find('s', 1_000);
    expect(statements).to.deep.equal([]);
    await sql.query('update vault.mcp_session set advanced_tools = true');
    expect((await sessions.find('s', 1_000))?.advancedTools, 'the copy').to.equal(false);
    expect((await sessions.find('s', 0))?.advancedTools, 'the row').to.equal(true);
    clock.advance(1_000);
    statements.length = 0;
    await sessions.find('s', 1_000);
    expect(statements).to.deep.equal(['select']);
  });

  it('are read again when the cache is old, independent of the wall clock', async () => {
    await sessions.create(session('s'));
    await sessions.find('s', 1_000);
    await sql.query('update vault.mcp_session set advanced_tools = true');
    clock.step(-3_600_000);
    clock.advance(1_000);
    expect((await sessions.find('s', 1_000))?.advancedTools).to.equal(true);
  });

  it('show their own switch and their own end at once', async () => {
    await sessions.create(session('s'));
    await sessions.find('s', 1_000);
    await sessions.setAdvancedTools('s', true);
    expect((await sessions.find('s', 1_000))?.advancedTools).to.equal(true);
    await sessions.end('s');
    expect(await sessions.find('s', 1_000)).to.equal(null);
    expect(await rejection(sessions.setAdvancedTools('s', true))).to.include({ code: 'session_not_found' });
  });

  it(`are limited to 500 per token, and the one unused longest ends ${verifies('contract:16:session-count')}`, async () => {
    await sql.query(
      `insert into vault.mcp_session
         select decode(md5(n::text), 'hex'), 'tok_1', 'org_1', 'agt_1', '2025-11-25', false, $1, $1
         from generate_series(1, 498) n`,
      [clock.now()],
    );
    clock.advance(-2 * HOUR);
    await sessions.create(session('oldest-but-used'));
    clock.advance(HOUR);
    await sessions.create(session('unused-longest'));
    await sessions.create(session('of-another-token', 'tok_2'));
    clock.advance(HOUR);
    await sessions.find('oldest-but-used', 0);

    await sessions.create(session('the-next'));
    expect(await sessions.find('unused-longest', HOUR)).to.equal(null);
    for (const kept of ['oldest-but-used', 'of-another-token', 'the-next']) {
      expect(await sessions.find(kept, 0), kept).not.to.equal(null);
    }
    const [count] = await sql.query(
      "select count(*)::int as n from vault.mcp_session where token_id = 'tok_1'",
    );
    expect(count).to.deep.equal({ n: 500 });
  });

  it('are deleted when they have expired', async () => {
    await sessions.create(session('old'));
    clock.advance(HOUR);
    await sessions.create(session('young'));
    clock.advance(23 * HOUR);
    expect(await sessions.deleteExpired()).to.equal(1);
    expect(await sessions.find('young', 0)).not.to.equal(null);
  });
});
