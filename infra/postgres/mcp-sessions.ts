/**
 * The `McpSessions` port on `vault.mcp_session`. Ids are stored as SHA-256: the table gives access to no
 * session.
 */
import { hash } from 'node:crypto';
import { GatewayError } from '../../commands/values/errors.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import type { Clock, Log, Row, Sql } from '../../commands/ports/ports.ts';
import type { McpSession, McpSessions } from '../../commands/ports/mcp.ts';

const MINUTE_MS = 60_000;
const IDLE_MS = 24 * 60 * MINUTE_MS;
const SWEEP_EVERY_MS = 10 * MINUTE_MS;
const SESSIONS_PER_TOKEN = 500;
const COPIES = 10_000;

interface SessionRow extends Row {
  token_id: string;
  org_id: string;
  principal_id: string;
  revision: string;
  advanced_tools: boolean;
  used_at: Date;
}

interface Copy {
  readonly session: McpSession;
  usedAt: number;
  /** On the monotonic clock. */
  readonly readAt: number;
}

// Beside the new session the token keeps the 499 most recently used.
const CREATE = `
  with unused_longest as (
    delete from vault.mcp_session where id_sha256 in (
      select id_sha256 from vault.mcp_session where token_id = $2
      order by used_at desc, created_at desc offset $8)
    returning id_sha256)
  , made as (
    insert into vault.mcp_session
      (id_sha256, token_id, org_id, principal_id, revision, advanced_tools, created_at, used_at)
    values ($1, $2, $3, $4, $5, $6, $7, $7))
  select id_sha256 from unused_longest`;

/** The SHA-256 of an id in Base64, in one call: it is needed for each request. */
const keyOf = (id: string): string => hash('sha256', id, 'base64');
const bytesOf = (key: string): Buffer => Buffer.from(key, 'base64');

/** Sessions with in-process copies, and a timer, ended by `close`, that deletes expired ones. */
export class PostgresMcpSessions implements McpSessions {
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #copies = new BoundedMap<string, Copy>(COPIES);
  readonly #sweeper: NodeJS.Timeout;

  constructor(sql: Sql, clock: Clock, log: Log) {
    this.#sql = sql;
    this.#clock = clock;
    this.#sweeper = setInterval(() => {
      this.deleteExpired().catch((error: unknown) => {
        log.warn('mcp session: expired sessions not deleted', { error: String(error) });
      });
    }, SWEEP_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  async create(session: McpSession): Promise<void> {
    const ended = await this.#sql.query<{ id_sha256: Buffer }>(CREATE, [
      bytesOf(keyOf(session.id)),
      session.tokenId,
      session.orgId,
      session.principalId,
      session.revision,
      session.advancedTools,
      this.#clock.now(),
      SESSIONS_PER_TOKEN - 1,
    ]);
    for (const row of ended) this.#copies.delete(row.id_sha256.toString('base64'));
  }

  async find(id: string, maxAgeMs: number): Promise<McpSession | null> {
    const key = keyOf(id);
    const now = this.#clock.now().getTime();
    const elapsedMs = this.#clock.elapsedMs();
    const copy = this.#copyOf(key, elapsedMs - maxAgeMs) ?? (await this.#read(id, key, elapsedMs));
    // Expiry is decided here by comparison, whether or not the row is deleted yet.
    if (copy === null || copy.usedAt <= now - IDLE_MS) return null;
    if (copy.usedAt <= now - MINUTE_MS) await this.#touch(key, copy, now);
    return copy.session;
  }

  async setAdvancedTools(id: string, enabled: boolean): Promise<void> {
    const key = keyOf(id);
    this.#copies.delete(key);
    const rows = await this.#sql.query(
      'update vault.mcp_session set advanced_tools = $2 where id_sha256 = $1 returning true as done',
      [bytesOf(key), enabled],
    );
    if (rows.length === 0) {
      throw new GatewayError('session_not_found', 'The MCP session has ended; initialize again.');
    }
  }

  async end(id: string): Promise<void> {
    const key = keyOf(id);
    this.#copies.delete(key);
    await this.#sql.query('delete from vault.mcp_session where id_sha256 = $1', [bytesOf(key)]);
  }

  /** Deletes expired sessions and returns their number. */
  async deleteExpired(): Promise<number> {
    const expired = new Date(this.#clock.now().getTime() - IDLE_MS);
    const rows = await this.#sql.query(
      'delete from vault.mcp_session where used_at <= $1 returning true as done',
      [expired],
    );
    return rows.length;
  }

  #copyOf(key: string, readAfter: number): Copy | null {
    const copy = this.#copies.get(key);
    return copy !== undefined && copy.readAt > readAfter ? copy : null;
  }

  async #read(id: string, key: string, readAt: number): Promise<Copy | null> {
    const [row] = await this.#sql.query<SessionRow>(
      'select token_id, org_id, principal_id, revision, advanced_tools, used_at from vault.mcp_session where id_sha256 = $1',
      [bytesOf(key)],
    );
    if (row === undefined) {
      this.#copies.delete(key);
      return null;
    }
    const session: McpSession = {
      id,
      tokenId: row.token_id,
      orgId: row.org_id,
      principalId: row.principal_id,
      revision: row.revision,
      advancedTools: row.advanced_tools,
    };
    const copy: Copy = { session, usedAt: row.used_at.getTime(), readAt };
    this.#copies.set(key, copy);
    return copy;
  }

  async #touch(key: string, copy: Copy, now: number): Promise<void> {
    // Set before the statement, so that simultaneous calls do not all write.
    copy.usedAt = now;
    await this.#sql.query(
      'update vault.mcp_session set used_at = greatest(used_at, $2) where id_sha256 = $1',
      [bytesOf(key), new Date(now)],
    );
  }
}
