/**
 * Ensures that a process does not answer from an outdated directory. The writer of a directory change stores
 * its position here before the change is answered, and every process reads it twice a second
 * (docs/architecture.md#rights). A value was current when it was requested, so no change answered before that
 * is missed.
 */
import type { Log, Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';

const READ_EVERY_MS = 400;
/** A process whose last reading is older refuses to answer. */
export const MOST_AGE_MS = 1_000;

export interface AuthzEpochOptions {
  /** A dedicated pool: behind slow statements of others the epoch would not be read in time. */
  readonly sql: Sql;
  readonly log: Log;
  /** The position of the newest event. */
  readonly endOfLog: () => Promise<Position>;
  /** Called once for each rebuild of `read.directory` after `knownBuild`, within half a second. */
  readonly onRebuilt?: () => void;
  /** The result of `directoryBuild` before the directory was loaded. */
  readonly knownBuild?: bigint;
}

export interface AuthzEpoch {
  /** Every process must reach the position before it may answer again. Throws `store_unavailable`. */
  raise(position: Position): Promise<void>;
  /**
   * This process's directory has applied a change. The next reading raises an epoch that is behind it: its
   * writer was interrupted between the change and its answer, and a stalled directory would never learn of
   * it.
   */
  applied(position: Position): void;
  /** Reads the epoch now, unless a reading is under way: a busy process may have missed the last ones. */
  refresh(): void;
  /** True if a directory at `position` may be used now. */
  allows(position: Position): boolean;
  /** Time since the last reading of the epoch. */
  ageMs(): number;
  close(): void;
}

/** Reads the epoch once, then periodically until closed. Throws `store_unavailable`. */
export async function watchAuthzEpoch(options: AuthzEpochOptions): Promise<AuthzEpoch> {
  const { sql, log, onRebuilt } = options;
  let readAt = bothClocks();
  let epoch = await setBackBeyondEnd(options);
  let build = options.knownBuild;
  let held: Position = -1n;
  let reading: Promise<void> | null = null;

  const raise = async (position: Position): Promise<void> => {
    if (position <= epoch) return;
    await sql.query('update work.authz_epoch set position = $1 where position < $1', [String(position)]);
  };
  const read = async (): Promise<void> => {
    const askedAt = bothClocks();
    const row = await readEpoch(sql);
    epoch = row.position;
    readAt = askedAt;
    if (build !== undefined && row.build !== build) onRebuilt?.();
    build = row.build;
    await raise(held);
  };
  const refresh = (): Promise<void> =>
    (reading ??= read().finally(() => {
      reading = null;
    }));
  const timer = setInterval(() => {
    refresh().catch((error: unknown) => {
      log.warn('directory: epoch not read', { error: String(error) });
    });
  }, READ_EVERY_MS).unref();
  const ageMs = (): number => {
    const now = bothClocks();
    return Math.max(now.running - readAt.running, now.wall - readAt.wall);
  };
  return {
    raise,
    applied: (position) => {
      held = position;
    },
    refresh: () => {
      // The periodic reading reports a database that fails.
      refresh().catch(() => undefined);
    },
    allows: (position) => position >= epoch && ageMs() <= MOST_AGE_MS,
    ageMs,
    close: () => {
      clearInterval(timer);
    },
  };
}

/**
 * The monotonic clock never jumps but stops while the machine sleeps; the wall clock continues and may be
 * set. The longer of the two spans counts: a wall clock set forward costs one reading, and no change makes a
 * reading younger.
 */
const bothClocks = () => ({ running: performance.now(), wall: Date.now() });

interface EpochRow {
  readonly position: Position;
  readonly build: bigint;
}

async function readEpoch(sql: Sql): Promise<EpochRow> {
  const [row] = await sql.query<{ position: string; build: string }>(
    'select position, directory_build as build from work.authz_epoch',
  );
  return { position: BigInt(row?.position ?? -1), build: BigInt(row?.build ?? 0) };
}

/** How often `read.directory` was rebuilt; read before it is loaded. Throws `store_unavailable`. */
export const directoryBuild = async (sql: Sql): Promise<bigint> => (await readEpoch(sql)).build;

/**
 * The epoch, reset when it is beyond the end of the log. Then the log was replaced, changes answered after
 * its backup are lost, and no process could ever reach the epoch. Runs only when the read models are not
 * ahead too: those refuse to start until a person has rebuilt them, so it is never the first sign. The end is
 * read after the epoch, which never names an event that is not stored yet; a value written meanwhile by
 * another process is kept.
 */
async function setBackBeyondEnd({ sql, log, endOfLog }: AuthzEpochOptions): Promise<Position> {
  const { position: epoch } = await readEpoch(sql);
  const end = await endOfLog();
  if (epoch <= end) return epoch;
  const positions = [String(end), String(epoch)];
  log.error('directory: the log ends before the newest change of rights, later changes are lost', {
    epoch: String(epoch),
    end: String(end),
  });
  await sql.query('update work.authz_epoch set position = $1 where position = $2', positions);
  return (await readEpoch(sql)).position;
}
