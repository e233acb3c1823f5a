/** The `McpTasks` port on `work.mcp_task`. Times are the database's, as for the leases. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { McpTask, McpTasks, NewTask, TaskEnd, TaskOwner, TaskPlace } from '../../commands/ports/mcp.ts';
import type { Leases } from '../../commands/ports/leases.ts';
import type { Log, Row, Sql } from '../../commands/ports/ports.ts';
import type { Sealed } from '../../commands/values/sealed.ts';

const MOST_WORKING = 20;
/** Includes ended tasks. Each outcome has at most the size of an MCP result. */
const MOST_KEPT = 500;
const SWEEP_EVERY_MS = 60_000;

const CUT_OFF =
  'The gateway process that ran it ended before the outcome was known. Call the tool again; a write with the same ' +
  'idempotency_key is not done twice.';

const COLUMNS = 'task_id, tool, status, status_message, created_at, updated_at, ttl_ms';
const OWN = 'org_id = $1 and principal_id = $2 and expires_at > now()';

interface TaskRow extends Row {
  task_id: string;
  tool: string;
  status: McpTask['status'];
  status_message: string | null;
  created_at: Date;
  updated_at: Date;
  ttl_ms: string;
}

const taskOf = (row: TaskRow): McpTask => ({
  id: row.task_id,
  tool: row.tool,
  status: row.status,
  statusMessage: row.status_message,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  ttlMs: Number(row.ttl_ms),
});

export class PostgresMcpTasks implements McpTasks {
  readonly #sql: Sql;
  readonly #leases: Leases;
  readonly #sweeper: NodeJS.Timeout;

  /** Starts a timer, ended by `close`, that deletes expired tasks. */
  constructor(sql: Sql, leases: Leases, log: Log) {
    this.#sql = sql;
    this.#leases = leases;
    this.#sweeper = setInterval(() => {
      this.deleteExpired().catch((error: unknown) => {
        log.warn('mcp task: expired tasks not deleted', { error: String(error) });
      });
    }, SWEEP_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  async create(task: NewTask): Promise<McpTask> {
    // Before the row: a task without a lease would count as interrupted.
    await this.#leases.acquire(task.id);
    try {
      return await this.#sql.transaction((sql) => insert(sql, task));
    } catch (error) {
      await this.#leases.release(task.id);
      throw error;
    }
  }

  async find(owner: TaskOwner, id: string): Promise<McpTask | null> {
    await this.#failCutOff(owner);
    const [row] = await this.#sql.query<TaskRow>(
      `select ${COLUMNS} from work.mcp_task where ${OWN} and task_id = $3`,
      [owner.orgId, owner.principalId, id],
    );
    return row === undefined ? null : taskOf(row);
  }

  async list(owner: TaskOwner, after: TaskPlace | null, most: number): Promise<readonly McpTask[]> {
    await this.#failCutOff(owner);
    const rows = await this.#sql.query<TaskRow>(
      `select ${COLUMNS} from work.mcp_task
       where ${OWN} and ($3::timestamptz is null or (created_at, task_id) > ($3, $4))
       order by created_at, task_id limit $5`,
      [owner.orgId, owner.principalId, after?.createdAt ?? null, after?.id ?? '', most],
    );
    return rows.map(taskOf);
  }

  async contents(
    owner: TaskOwner,
    id: string,
  ): Promise<{ readonly input: Sealed; readonly outcome: Sealed | null } | null> {
    const [row] = await this.#sql.query<{ input: Sealed; outcome: Sealed | null }>(
      `select input, outcome from work.mcp_task where ${OWN} and task_id = $3`,
      [owner.orgId, owner.principalId, id],
    );
    return row ?? null;
  }

  async end(owner: TaskOwner, id: string, end: TaskEnd): Promise<McpTask | null> {
    const [row] = await this.#sql.query<TaskRow>(
      `update work.mcp_task set status = $4, status_message = $5, outcome = $6, updated_at = now()
       where ${OWN} and task_id = $3 and status = 'working' returning ${COLUMNS}`,
      [owner.orgId, owner.principalId, id, end.status, end.statusMessage, end.outcome],
    );
    return row === undefined ? null : taskOf(row);
  }

  async release(id: string): Promise<void> {
    await this.#leases.release(id);
  }

  /** Deletes expired tasks and returns their number. */
  async deleteExpired(): Promise<number> {
    const rows = await this.#sql.query(
      'delete from work.mcp_task where expires_at <= now() returning true as done',
    );
    return rows.length;
  }

  async #failCutOff(owner: TaskOwner): Promise<void> {
    await this.#sql.query(
      `update work.mcp_task as t set status = 'failed', status_message = $3, updated_at = now()
       where org_id = $1 and principal_id = $2 and status = 'working'
         and not exists (select from work.lease l where l.name = t.task_id and l.until > now())`,
      [owner.orgId, owner.principalId, CUT_OFF],
    );
  }
}

async function insert(sql: Sql, { id, orgId, principalId, tool, ttlMs, input }: NewTask): Promise<McpTask> {
  // Serializes the counts of one owner's tasks.
  await sql.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `mcp-task ${orgId} ${principalId}`,
  ]);
  const [count] = await sql.query<{ working: number; kept: number }>(
    `select count(*) filter (where status = 'working')::int as working, count(*)::int as kept
     from work.mcp_task where ${OWN}`,
    [orgId, principalId],
  );
  if ((count?.working ?? 0) >= MOST_WORKING) throw tooMany(`${String(MOST_WORKING)} tasks at work`);
  if ((count?.kept ?? 0) >= MOST_KEPT) throw tooMany(`${String(MOST_KEPT)} tasks whose ttl is not over`);
  const [row] = await sql.query<TaskRow>(
    `insert into work.mcp_task
       (task_id, org_id, principal_id, tool, status, input, created_at, updated_at, ttl_ms, expires_at)
     values ($1, $2, $3, $4, 'working', $5, date_trunc('milliseconds', now()), now(), $6::bigint,
       now() + $6::bigint * interval '1 millisecond')
     returning ${COLUMNS}`,
    [id, orgId, principalId, tool, input, ttlMs],
  );
  if (row === undefined) throw new Error('a task that was inserted is not there');
  return taskOf(row);
}

const tooMany = (has: string): GatewayError =>
  new GatewayError('rate_limited', `This principal has ${has} already; wait for one to end.`, {
    retryAfterSeconds: 5,
    details: { limit: 'tasks' },
  });
