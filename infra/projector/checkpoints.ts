/** The checkpoints of projections, moved by compare-and-set only: of two rival leaders, one stops. */
import type { Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';

/** By checkpoint key. */
export type Checkpoints = ReadonlyMap<string, Position>;

/** Another process moved a checkpoint: this process no longer leads. */
export class Fenced extends Error {
  constructor(keys: readonly string[]) {
    super(`another process moved the checkpoint of ${keys.join(', ')}`);
    this.name = 'Fenced';
  }
}

/** The checkpoints of `keys`; -1n before the first event. */
export async function readCheckpoints(sql: Sql, keys: readonly string[]): Promise<Checkpoints> {
  const rows = await sql.query<{ projection: string; position: string }>(
    'select projection, position from read.checkpoint where projection = any($1)',
    [keys],
  );
  const known = new Map(rows.map(({ projection, position }) => [projection, BigInt(position)]));
  return new Map(keys.map((key) => [key, known.get(key) ?? -1n]));
}

const MOVE = {
  name: 'checkpoint_move',
  text: `
    update read.checkpoint c set position = $3, updated_at = now()
    from unnest($1::text[], $2::bigint[]) as known(projection, position),
      set_config('synchronous_commit', 'off', true)
    where c.projection = known.projection and c.position = known.position
    returning c.projection`,
};

/**
 * Moves every checkpoint behind `to` from its known position. Throws `Fenced` when one differs. The commit
 * does not wait for the disk: after a crash of the database, rows and checkpoint are both at the same earlier
 * position, and the events are applied again.
 */
export async function moveCheckpoints(sql: Sql, from: Checkpoints, to: Position): Promise<void> {
  const behind = [...from].filter(([, position]) => position < to);
  const moved = await sql.query(MOVE, [
    behind.map(([key]) => key),
    behind.map(([, position]) => String(position)),
    String(to),
  ]);
  if (moved.length < behind.length) throw new Fenced(behind.map(([key]) => key));
}

/** The lowest position; -1n for none. */
export const lowest = (positions: Iterable<Position>): Position => {
  const [first = -1n, ...rest] = positions;
  return rest.reduce((low, position) => (position < low ? position : low), first);
};

/** The log was replaced or restored from an older backup; the read models are no longer true. */
export class CheckpointAheadOfLog extends Error {
  constructor(checkpoint: Position, head: Position) {
    super(
      `The read models hold events up to ${String(checkpoint)} but the event log ends at ${String(head)}: restore the ` +
        'event store and the database of the same time, or build the read models again from this log: npm run rebuild -- all',
    );
    this.name = 'CheckpointAheadOfLog';
  }
}

/** The end of the log. Throws `CheckpointAheadOfLog`, or `store_unavailable`. */
export async function refuseCheckpointAhead(
  events: Pick<EventStore, 'headPosition'>,
  checkpoint: Position,
): Promise<Position> {
  const head = await events.headPosition();
  if (checkpoint > head) throw new CheckpointAheadOfLog(checkpoint, head);
  return head;
}
