/**
 * How a process knows that its copy of the directory is not outdated: whoever changes the directory writes the change's
 * position here before the change is answered, and every process reads it twice a second (`architecture.md` 5).
 */
import type { Log, Position, Sql } from '../commands/kernel/ports.ts';

const READ_EVERY_MS = 400;
/** A process that has not read the epoch for so long answers no more. */
const MOST_AGE_MS = 1_000;

export interface AuthzEpoch {
  /** Every process must hold the position before it may answer again. Throws `store_unavailable`. */
  raise(position: Position): Promise<void>;
  /** Whether a copy that holds `position` may be trusted now. */
  allows(position: Position): boolean;
  /** Since the epoch was read last. */
  ageMs(): number;
  close(): void;
}

/**
 * Reads the epoch once, then until closed. One beyond `head`, the end of the log, is of a log that was replaced and is
 * set back. Throws `store_unavailable`.
 */
export async function watchAuthzEpoch(sql: Sql, log: Log, head: Position): Promise<AuthzEpoch> {
  await sql.query('update work.authz_epoch set position = $1 where position > $1', [String(head)]);
  let epoch: Position = -1n;
  let readAt = -Infinity;
  let reading = false;
  const read = async (): Promise<void> => {
    const askedAt = performance.now();
    const [row] = await sql.query<{ position: string }>('select position from work.authz_epoch');
    epoch = BigInt(row?.position ?? -1);
    readAt = askedAt;
  };
  await read();
  const timer = setInterval(() => {
    if (reading) return;
    reading = true;
    read()
      .catch((error: unknown) => {
        log.warn('the epoch of the directory could not be read', { error: String(error) });
      })
      .finally(() => {
        reading = false;
      });
  }, READ_EVERY_MS).unref();
  const ageMs = (): number => performance.now() - readAt;
  return {
    raise: async (position) => {
      const parameters = [String(position)];
      await sql.query('update work.authz_epoch set position = $1 where position < $1', parameters);
    },
    allows: (position) => position >= epoch && ageMs() <= MOST_AGE_MS,
    ageMs,
    close: () => {
      clearInterval(timer);
    },
  };
}
