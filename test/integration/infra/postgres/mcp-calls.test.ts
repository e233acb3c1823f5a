import { expect } from 'chai';
import type { Pool } from 'pg';
import type { OpenCall } from '../../../../commands/ports/mcp.ts';
import { PostgresMcpCalls } from '../../../../infra/postgres/mcp-calls.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** Says whether the call was cancelled. */
function cancellation(call: OpenCall): () => boolean {
  let isCancelled = false;
  call.onCancelled(() => {
    isCancelled = true;
  });
  return () => isCancelled;
}

describe('calls of MCP sessions', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let replicas: readonly [PostgresMcpCalls, PostgresMcpCalls];

  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    const replica = () =>
      new PostgresMcpCalls({
        sql: postgresSql(pool),
        directUrl: database.url,
        clock: systemClock,
        log: silentLog,
      });
    replicas = [replica(), replica()];
  });
  after(async () => {
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    await pool.end();
    await database.drop();
  });

  it(`are cancelled on the replica that runs them ${verifies('contract:16:cancelled')}`, async () => {
    const [here, there] = replicas;
    const name = { sessionId: 'session', requestId: 1 };
    using mine = here.open(name);
    const isMineCancelled = cancellation(mine);
    using another = here.open({ ...name, requestId: '1' });
    const isAnotherCancelled = cancellation(another);
    await here.cancel(name);
    expect(isMineCancelled()).to.equal(true);
    using theirs = there.open({ ...name, requestId: 2 });
    const isTheirsCancelled = cancellation(theirs);
    // A notification may be sent before the other one listens; asking again changes nothing.
    await eventually(async () => {
      await here.cancel({ ...name, requestId: 2 });
      return isTheirsCancelled();
    });
    expect(isAnotherCancelled()).to.equal(false);
  });

  it('are unknown when they are over, and their ids may be used again', async () => {
    const [here] = replicas;
    const name = { sessionId: 'session', requestId: 3 };
    const first = here.open(name);
    using second = here.open(name);
    const [isFirstCancelled, isSecondCancelled] = [cancellation(first), cancellation(second)];
    first[Symbol.dispose]();
    await here.cancel(name);
    expect([isFirstCancelled(), isSecondCancelled()]).to.deep.equal([false, true]);
  });
});
