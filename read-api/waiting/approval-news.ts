/** An approval for waiting requests: concurrent waits share one read of its stream and one rendering. */
import { approvalRecord } from '../../commands/operations/approval-record.ts';
import { streamOf } from '../../commands/kernel/decide-and-append.ts';
import { type PastFact, readEvent } from '../../commands/values/event.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import type { Position } from '../../commands/values/position.ts';
import { type ListedApproval, listedApproval } from '../../commands/operations/approval-payload.ts';
import { approvalStatusOf } from '../../commands/operations/approval-reply.ts';
import { approvalIdOf, operation, type OperationState } from '../../commands/operations/operation.ts';
import type { OperationEvent } from '../../commands/operations/operation-events.ts';
import { findSuccessor } from '../../projections/approval-queries.ts';

export interface ShownApproval {
  readonly approval: ListedApproval;
  /** Size of its JSON. */
  readonly bytes: number;
}

/** One operation: its current state, and where the status of its approval changed. */
export class ApprovalNews {
  readonly #operationId: string;
  readonly state: OperationState;
  /** Positions of the events that changed the status, oldest first; the request itself is not a change. */
  readonly changes: readonly Position[];
  /** By status: everything else is the same for every caller. */
  readonly #shown = new Map<string, Promise<ShownApproval>>();

  constructor(operationId: string, state: OperationState, changes: readonly Position[]) {
    this.#operationId = operationId;
    this.state = state;
    this.changes = changes;
  }

  /** The payload with the status at `now` and the approval that superseded this one by then. */
  shown(ports: Ports, now: Date): Promise<ShownApproval> {
    const status = approvalStatusOf(this.state, now) ?? '';
    // The read model receives the successor a little later, so this is not cached.
    if (status === 'superseded') return this.#showSuperseded(ports, now);
    const known = this.#shown.get(status);
    if (known) return known;
    const shown = this.#show(ports, { supersededBy: null, now });
    this.#shown.set(status, shown);
    return shown;
  }

  async #showSuperseded(ports: Ports, now: Date): Promise<ShownApproval> {
    const supersededBy = await findSuccessor(ports.sql, approvalIdOf(this.#operationId), null);
    return await this.#show(ports, { supersededBy, now });
  }

  async #show(
    ports: Ports,
    at: { readonly supersededBy: string | null; readonly now: Date },
  ): Promise<ShownApproval> {
    const view = { record: approvalRecord(this.#operationId, this.state), ...at };
    const approval = await listedApproval(ports, view);
    return { approval, bytes: Buffer.byteLength(JSON.stringify(approval)) };
  }
}

interface Reading {
  /** The feed's position when the stream was read. */
  readonly from: Position;
  readonly news: Promise<ApprovalNews>;
}

/** Reads in progress, by operation. */
const readings = new WeakMap<EventStore, Map<string, Reading>>();

/** The approval of an operation with everything up to a position that the feed has reached. Throws `store_unavailable`. */
export function loadApprovalNews(
  { events }: Pick<Ports, 'events'>,
  operationId: string,
  upTo: Position,
): Promise<ApprovalNews> {
  const ofStore = readings.get(events) ?? new Map<string, Reading>();
  readings.set(events, ofStore);
  const underWay = ofStore.get(operationId);
  if (underWay && underWay.from >= upTo) return underWay.news;
  const reading: Reading = {
    from: upTo,
    news: readNews(events, operationId).finally(() => {
      if (ofStore.get(operationId) === reading) ofStore.delete(operationId);
    }),
  };
  ofStore.set(operationId, reading);
  return reading.news;
}

async function readNews(events: EventStore, operationId: string): Promise<ApprovalNews> {
  let state = operation.initial;
  const changes: Position[] = [];
  for (const stored of await events.readStream(streamOf(operation, operationId))) {
    const fact = readEvent(operation.catalogue, stored) as PastFact<OperationEvent> | null;
    if (fact === null) continue;
    const before = state;
    state = operation.evolve(before, fact);
    if (isChange(before, state, fact)) changes.push(stored.position);
  }
  return new ApprovalNews(operationId, state, changes);
}

/** A grant by policy is not a change: the requester's own answer reported it. */
function isChange(
  before: OperationState,
  after: OperationState,
  { type, data, meta }: PastFact<OperationEvent>,
): boolean {
  if (before.approval === null || (type === 'ApprovalGranted' && data.by === 'policy')) return false;
  const at = new Date(meta.occurred_at);
  return approvalStatusOf(before, at) !== approvalStatusOf(after, at);
}
