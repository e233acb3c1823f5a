/**
 * Ensures that a process does not answer from an outdated directory. The writer of a directory change stores
 * its position here before the change is answered (docs/architecture.md#rights). A process reads it before it
 * answers from a reading older than a second, and twice a second while it is asked. A value was current when it
 * was requested, so no change answered before that is missed.
 */
import type { Log, Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';

/** Twice in the time that a reading is valid, so that who is asked has a valid one. */
const READ_EVERY_MS = 400;
/** Who was asked for so long ago is not asked now: the next caller waits for a reading. */
const ASKED_FOR_MS = 60_000;
/** For a rebuild of the directory. */
const READ_UNASKED_EVERY_MS = 10_000;
/** A process whose last reading is older refuses to answer. */
export const MOST_AGE_MS = 1_000;

export interface AuthzEpochOptions {
  /** A dedicated pool: behind slow statements of others the epoch would not be read in time. */
  readonly sql: Sql;
  readonly log: Log;
  /** The position of the newest event. */
  readonly endOfLog: () => Promise<Position>;
  /** Called once for each rebuild of `read.directory` after `knownBuild`, within ten seconds. */
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
  /** Reads the epoch now, unless a reading is under way. It resolves also when that fails: the age says so. */
  refresh(): Promise<void>;
  /** True if a directory at `position` may be used now. */
  allows(position: Position): boolean;
  /** Somebody asks without waiting: the epoch is read twice a second for the next minute. */
  asked(): void;
  /** Time since the last reading of the epoch. */
  ageMs(): number;
  close(): void;
}

/** Reads the epoch once, then at intervals until closed. Throws `store_unavailable`. */
export async function watchAuthzEpoch(options: AuthzEpochOptions): Promise<AuthzEpoch> {
  const { sql, log, onRebuilt } = options;
  let readAt = bothClocks();
  let epoch = await setBackBeyondEnd(options);
  let build = options.knownBuild;
  let held: Position = -1n;
  let reading: Promise<void> | null = null;
  let isRead = true;

  const raise = async (position: Position): Promise<void> => {
    if (position <= epoch) return;
    await sql.query('update work.authz_epoch set position = $1 where position < $1', [String(position)]);
  };
  const read = async (): Promise<void> => {
    const requestedAt = bothClocks();
    const row = await readEpoch(sql);
    epoch = row.position;
    readAt = requestedAt;
    isRead = true;
    if (build !== undefined && row.build !== build) onRebuilt?.();
    build = row.build;
    await raise(held);
  };
  const refresh = (): Promise<void> =>
    (reading ??= read()
      .catch((error: unknown) => {
        // Once for each outage: callers ask again and again.
        if (isRead) log.warn('directory: epoch not read', { error: String(error) });
        isRead = false;
      })
      .finally(() => {
        reading = null;
      }));
  const readings = startReadings(refresh, () => !isRead || held > epoch);
  const ageMs = (): number => {
    const now = bothClocks();
    return Math.max(now.running - readAt.running, now.wall - readAt.wall);
  };
  return {
    raise,
    applied: (position) => {
      held = position;
      readings.soon(READ_EVERY_MS);
    },
    refresh,
    allows: (position) => position >= epoch && ageMs() <= MOST_AGE_MS,
    asked: readings.asked,
    ageMs,
    close: readings.close,
  };
}

interface Readings {
  /** Reads so soon, where the next reading is further away. */
  readonly soon: (ms: number) => void;
  readonly asked: () => void;
  readonly close: () => void;
}

/** Reads twice a second for a minute after `asked` was called last, and while it is `urgent`; else rarely. */
function startReadings(read: () => Promise<void>, urgent: () => boolean): Readings {
  let isClosed = false;
  let askedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let pauseMs = 0;
  const readIn = (ms: number): void => {
    clearTimeout(timer);
    pauseMs = ms;
    timer = setTimeout(() => {
      void read().then(() => {
        const isAsked = performance.now() - askedAt < ASKED_FOR_MS;
        if (!isClosed) readIn(isAsked || urgent() ? READ_EVERY_MS : READ_UNASKED_EVERY_MS);
      });
    }, ms).unref();
  };
  const soon = (ms: number): void => {
    if (!isClosed && pauseMs > READ_EVERY_MS) readIn(ms);
  };
  readIn(READ_EVERY_MS);
  return {
    soon,
    asked: () => {
      askedAt = performance.now();
      soon(0);
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
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
