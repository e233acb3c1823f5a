/**
 * The `Sql` port over a pool of connections. `bigint` columns are returned as text, as in `pg`: a position
 * does not fit a JavaScript number, so the caller uses `BigInt(…)`. `timestamptz` is returned as `Date`,
 * `bytea` as `Buffer`.
 */
import pg from 'pg';
import { GatewayError } from '../../commands/values/errors.ts';
import { arrayLiteral } from './array-literal.ts';
import { asGatewayError, isConnectionFailure } from './connection-errors.ts';
import type { PoolClient } from 'pg';
import { type SqlText, textOf } from '../../commands/ports/statement.ts';
import type { Log, Row, Sql } from '../../commands/ports/ports.ts';

export interface PoolOptions {
  readonly url: string;
  readonly log: Log;
  /** Maximum number of connections. */
  readonly size?: number;
  /**
   * The server stops a statement after this time; the client stops waiting a little later, in case the server
   * never answers.
   */
  readonly statementTimeoutMs?: number;
}

const ignore = (): void => undefined;

/** A pool on `url`, which may be that of a transaction pooler. It connects at the first query. */
export function openPool(options: PoolOptions): pg.Pool {
  const timeoutMs = options.statementTimeoutMs ?? 30_000;
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: 'gateway',
    max: options.size ?? 20,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    query_timeout: timeoutMs + 5_000,
    keepAlive: true,
    // Not as start-up parameters: poolers refuse those.
    verify: (client, done) => {
      const settings = `set statement_timeout = ${String(timeoutMs)}; set idle_in_transaction_session_timeout = 60000`;
      // The pool has no listener yet: a connection that breaks here would end the process.
      client.on('error', ignore);
      client
        .query(settings)
        .then(() => {
          done();
        }, done)
        .finally(() => client.off('error', ignore));
    },
  });
  pool.on('error', (error) => {
    // The pool ends before its connections: the server may close them first.
    if (pool.ending) return;
    options.log.warn('postgres pool: idle connection lost', { error: error.message });
  });
  return pool;
}

export interface SqlOptions {
  /** True without a transaction pooler: behind one, the next statement may use another session. Default false. */
  readonly isDirect?: boolean;
}

/**
 * The pool as `Sql`. A statement with a name is prepared once on each direct connection. A lost, refused or overdue connection throws `store_unavailable`; other errors are
 * unchanged.
 */
export function postgresSql(pool: pg.Pool, { isDirect = false }: SqlOptions = {}): Sql {
  const on = (client: PoolClient): Session => ({ client, isDirect });
  return {
    query: (statement, parameters = []) =>
      withClient(pool, (client) => run(on(client), statement, parameters)),
    transaction: (work) => withClient(pool, (client) => inTransaction(on(client), work)),
  };
}

interface Session extends SqlOptions {
  readonly client: PoolClient;
}

async function withClient<T>(pool: pg.Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  let lost: Error | undefined;
  const client = await pool.connect().catch((error: unknown) => {
    throw asGatewayError(error);
  });
  // Without a listener, a checked-out connection that breaks would end the process.
  const onError = (error: Error): void => {
    lost = error;
  };
  client.on('error', onError);
  try {
    return await work(client);
  } catch (error) {
    if (isConnectionFailure(error) || (error instanceof GatewayError && error.code === 'store_unavailable')) {
      lost = error;
    }
    throw asGatewayError(error);
  } finally {
    client.off('error', onError);
    client.release(lost);
  }
}

async function run<R extends Row>(
  { client, isDirect }: Session,
  statement: SqlText,
  parameters: readonly unknown[],
): Promise<R[]> {
  const values = parameters.map(asParameter);
  const isNamed = isDirect === true && typeof statement !== 'string';
  try {
    const { rows } = await client.query<R>(
      isNamed ? { ...statement, values } : { text: textOf(statement), values },
    );
    return rows;
  } catch (error) {
    throw asGatewayError(error);
  }
}

const asParameter = (value: unknown): unknown =>
  Array.isArray(value) ? (arrayLiteral(value) ?? value) : value;

async function inTransaction<T>(session: Session, work: (sql: Sql) => Promise<T>): Promise<T> {
  const { client } = session;
  await client.query('begin');
  let result: T;
  try {
    result = await work(transactionSql(session, 1));
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
  // Postgres answers a commit with a rollback when a statement had failed; ignoring that would lose work
  // silently.
  const { command } = await client.query('commit');
  if (command === 'ROLLBACK')
    throw new Error('A statement failed inside a transaction that went on to commit.');
  return result;
}

function transactionSql(session: Session, depth: number): Sql {
  return {
    query: (statement, parameters = []) => run(session, statement, parameters),
    // A nested transaction is a savepoint: only its own failure is undone.
    transaction: async (work) => {
      const savepoint = `nested_${String(depth)}`;
      await run(session, `savepoint ${savepoint}`, []);
      try {
        const result = await work(transactionSql(session, depth + 1));
        await run(session, `release savepoint ${savepoint}`, []);
        return result;
      } catch (error) {
        await run(session, `rollback to savepoint ${savepoint}`, []);
        throw error;
      }
    },
  };
}
