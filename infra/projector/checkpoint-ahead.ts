/** Detects a read model that is newer than its log. */
import type { EventStore } from '../../commands/ports/event-store.ts';
import type { Position } from '../../commands/values/position.ts';

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
