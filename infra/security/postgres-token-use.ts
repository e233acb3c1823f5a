/**
 * Records when tokens and sessions are used, at most once a minute each and many in one statement. The `SessionUse` port
 * reads it: exact in this process, to the minute for other processes. Only a session that this process has not served for
 * half an hour costs a query.
 */
import type { Clock, Log, Sql } from '../../commands/ports/ports.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { SESSION_IDLE_MS } from '../../commands/accounts/session.ts';
import type { SessionUse } from '../../commands/ports/sign-in-port.ts';
import { listTokenUses } from '../../projections/token-use.ts';

const NOTE_EVERY_MS = 60_000;
/** The last use of an ended session is no longer needed; tokens keep theirs. */
const FORGET_SESSIONS_AFTER_MS = 24 * 60 * 60_000;
const FORGET_EVERY_MS = 60 * 60_000;
const WRITE_EVERY_MS = 2_000;
/** Tokens and sessions with a cached last use; a forgotten one is recorded once more, or read again. */
const REMEMBERED = 10_000;

export interface TokenUse {
  /** Costs nothing now; written within seconds. */
  note(tokenId: string): void;
  /** Writes what was recorded; called by the timer, and by tests. */
  write(): Promise<void>;
  /** Writes the rest and stops the timer. */
  close(): Promise<void>;
}

/** Starts the timer. A failed write is retried with the next. */
export function startTokenUse(sql: Sql, clock: Clock, log: Log): TokenUse {
  const notedAt = new BoundedMap<string, number>(REMEMBERED);
  const unwritten = new Map<string, Date>();
  let forgotAt = -Infinity;

  const write = async (): Promise<void> => {
    const uses = [...unwritten];
    if (uses.length === 0) return;
    await sql.query(
      `insert into work.token_use as held (token_id, last_used_at) select * from unnest($1::text[], $2::timestamptz[])
       on conflict (token_id) do update set last_used_at = greatest(held.last_used_at, excluded.last_used_at)`,
      [uses.map(([tokenId]) => tokenId), uses.map(([, usedAt]) => usedAt.toISOString())],
    );
    for (const [tokenId, usedAt] of uses) if (unwritten.get(tokenId) === usedAt) unwritten.delete(tokenId);
    const elapsedMs = clock.elapsedMs();
    if (elapsedMs - forgotAt < FORGET_EVERY_MS) return;
    forgotAt = elapsedMs;
    const before = new Date(clock.now().getTime() - FORGET_SESSIONS_AFTER_MS);
    await sql.query("delete from work.token_use where token_id like 'ses\\_%' and last_used_at < $1", [
      before,
    ]);
  };
  const writeOrWarn = (): Promise<void> =>
    write().catch((error: unknown) => {
      log.warn('token use: not written', {
        tokens: unwritten.size,
        error: String(error),
      });
    });
  const timer = setInterval(() => void writeOrWarn(), WRITE_EVERY_MS).unref();

  return {
    note: (tokenId) => {
      const elapsedMs = clock.elapsedMs();
      if (elapsedMs - (notedAt.get(tokenId) ?? -Infinity) < NOTE_EVERY_MS) return;
      notedAt.set(tokenId, elapsedMs);
      unwritten.set(tokenId, clock.now());
    },
    write,
    close: async () => {
      clearInterval(timer);
      await writeOrWarn();
    },
  };
}

export function createSessionUse(sql: Sql, clock: Clock): SessionUse {
  const usedAt = new BoundedMap<string, number>(REMEMBERED);
  return {
    isIdle: async ({ id, startedAt }) => {
      const now = clock.now().getTime();
      let last = usedAt.get(id) ?? Date.parse(startedAt);
      if (now - last >= SESSION_IDLE_MS) {
        last = Math.max(last, (await listTokenUses(sql, [id])).get(id)?.getTime() ?? 0);
      }
      if (now - last >= SESSION_IDLE_MS) return true;
      usedAt.set(id, now);
      return false;
    },
  };
}
