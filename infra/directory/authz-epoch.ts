/**
 * How a process knows that its copy of the directory is not outdated: whoever changes the directory writes the change's
 * position here before the change is answered, and every process reads it twice a second (docs/architecture.md#rights). What is
 * read now was true when it was asked for, so an answer given before that moment is never missed.
 */
import type { Log, Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';

const READ_EVERY_MS = 400;
/** A process that has not read the epoch for so long answers no more. */
const MOST_AGE_MS = 1_000;

export interface AuthzEpochOptions {
  /** Connections of its own: behind slow statements of others the epoch would not be read in time. */
  readonly sql: Sql;
  readonly log: Log;
  /** The position of the newest event. */
  readonly endOfLog: () => Promise<Position>;
  /** Told once for each rebuild of `read.directory` after `knownBuild`, within half a second. */
  readonly onRebuilt?: () => void;
  /** As `directoryBuild` gave it before the copy was loaded. */
  readonly knownBuild?: bigint;
}

export interface AuthzEpoch {
  /** Every process must hold the position before it may answer again. Throws `store_unavailable`. */
  raise(position: Position): Promise<void>;
  /**
   * This process's copy holds a change. The next reading raises an epoch that is behind it: its writer was cut off
   * between the change and its answer, and a copy that stands still would never learn of it.
   */
  applied(position: Position): void;
  /** Whether a copy that holds `position` may be trusted now. */
  allows(position: Position): boolean;
  /** Since the epoch was read last. */
  ageMs(): number;
  close(): void;
}

/** Reads the epoch once, then until closed. Throws `store_unavailable`. */
export async function watchAuthzEpoch(options: AuthzEpochOptions): Promise<AuthzEpoch> {
  const { sql, log, onRebuilt } = options;
  let readAt = bothClocks();
  let epoch = await setBackBeyondEnd(options);
  let build = options.knownBuild;
  let held: Position = -1n;
  let reading = false;

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
  const timer = setInterval(() => {
    if (reading) return;
    reading = true;
    read()
      .catch((error: unknown) => {
        log.warn('directory: epoch not read', { error: String(error) });
      })
      .finally(() => {
        reading = false;
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
    allows: (position) => position >= epoch && ageMs() <= MOST_AGE_MS,
    ageMs,
    close: () => {
      clearInterval(timer);
    },
  };
}

/**
 * The running clock never jumps but stands still while the machine sleeps; the hour goes on and may be set. The longer
 * of the two spans counts: an hour set forward costs one reading, and nothing makes a reading younger.
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

/** How often `read.directory` was rebuilt; asked for before it is loaded. Throws `store_unavailable`. */
export const directoryBuild = async (sql: Sql): Promise<bigint> => (await readEpoch(sql)).build;

/**
 * The epoch, set back when it is beyond the end of the log: then that log was replaced, what was answered after its backup
 * is in no log any more, and nobody could ever catch up with it. Only reached when the read models are not ahead too:
 * those refuse to start until a person has rebuilt them, so it is never the first sign. The end is asked for after the
 * epoch, which never names what is not stored yet; what another process writes meanwhile is left alone.
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
