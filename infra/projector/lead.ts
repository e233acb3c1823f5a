/** The work of a leader: one subscription to `$all` feeds all its projections, batch by batch. */
import type { Clock, Log, PersonalData, Sql } from '../../commands/ports/ports.ts';
import type { EventStore, SubscriptionItem } from '../../commands/ports/event-store.ts';
import type { Position } from '../../commands/values/position.ts';
import { checkpointKey, type Projection } from '../../projections/projection.ts';
import { applyBatch, type Parked } from './apply-batch.ts';
import { type Checkpoints, lowest, readCheckpoints, refuseCheckpointAhead } from './checkpoints.ts';
import { ItemBuffer } from './item-buffer.ts';

const AT_ONCE = 500;
const READ_AHEAD = 2_000;

export interface LeadParts {
  readonly sql: Sql;
  readonly events: EventStore;
  readonly personal: Pick<PersonalData, 'open'>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface LeadWatch {
  /** Called after each batch of `events`, and once at the start. */
  held(projections: readonly Projection[], position: Position, events: number): void;
  parked(parked: Parked): void;
  /** Waits briefly for more events; resolves immediately when a caller waits for a read model. */
  gather(): Promise<void>;
  /** Called when everything that was in the log at the start of the subscription is applied. */
  caughtUp(): Promise<void>;
}

export class Lead {
  readonly #parts: LeadParts;
  readonly #projections: readonly Projection[];
  readonly #watch: LeadWatch;

  constructor(parts: LeadParts, projections: readonly Projection[], watch: LeadWatch) {
    this.#parts = parts;
    this.#projections = projections;
    this.#watch = watch;
  }

  /**
   * Runs until the signal aborts. Starts from the lowest checkpoint; each projection skips what it has
   * applied. Throws `Fenced`, `CheckpointAheadOfLog`, or the error of store or database; then nothing of the
   * last batch is written.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { sql, events } = this.#parts;
    let checkpoints = await readCheckpoints(sql, this.#projections.map(checkpointKey));
    for (const position of checkpoints.values()) await refuseCheckpointAhead(events, position);
    const from = lowest(checkpoints.values());
    this.#watch.held(this.#projections, from, 0);
    const turn = new AbortController();
    const either = AbortSignal.any([signal, turn.signal]);
    const prompt = new Set(this.#projections.flatMap((projection) => projection.prompt ?? []));
    const isPrompt = (item: SubscriptionItem): boolean =>
      item.kind === 'event' && prompt.has(item.event.type);
    const buffer = new ItemBuffer(events.subscribeToAll(from < 0n ? null : from, either), READ_AHEAD);
    try {
      const take = () => buffer.take(AT_ONCE, () => this.#watch.gather(), isPrompt);
      for (let items = await take(); items; items = await take()) {
        if (signal.aborted) return;
        // Server checkpoints are ignored: a stored position is always an event's, so it can be verified.
        const stored = items.flatMap((item) => (item.kind === 'event' ? [item.event] : []));
        checkpoints = await this.#apply(stored, checkpoints);
        if (items.some(({ kind }) => kind === 'caught-up')) await this.#watch.caughtUp();
      }
    } finally {
      turn.abort();
      buffer.close();
    }
  }

  async #apply(
    events: Parameters<typeof applyBatch>[2]['events'],
    checkpoints: Checkpoints,
  ): Promise<Checkpoints> {
    const to = events.at(-1)?.position;
    if (to === undefined) return checkpoints;
    const { sql, personal } = this.#parts;
    const open = personal.open.bind(personal);
    const projections = this.#projections;
    const parked = await applyBatch(sql, open, { projections, checkpoints, events, to });
    parked.forEach((one) => {
      this.#watch.parked(one);
    });
    const moved = new Map([...checkpoints].map(([key, position]) => [key, position > to ? position : to]));
    this.#watch.held(projections, lowest(moved.values()), events.length);
    return moved;
  }
}
