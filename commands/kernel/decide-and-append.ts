/** The one way events are written: load a stream, fold it, decide, append at the exact revision. */
import {
  type EventCatalogue,
  type EventDefinition,
  type EventMetadata,
  type Fact,
  type PastFact,
  readEvent,
  versionOf,
} from './event.ts';
import { GatewayError } from './errors.ts';
import { uuidV5 } from './ids.ts';
import {
  type Appended,
  type EventStore,
  type ExpectedRevision,
  type Ids,
  type NewEvent,
  type Position,
  WrongExpectedRevision,
} from './ports.ts';

/** Who writes, and why: everything of the envelope that is the same for all events of one request. */
export interface Author {
  readonly orgId: string | null;
  readonly actor: EventMetadata['actor'];
  readonly surface: EventMetadata['surface'];
  readonly requestId: string;
  readonly correlationId: string;
  readonly causationId: string;
}

/** A stream's shape: the word before the dash, its events, and how they fold into a state. */
export interface Aggregate<State, D extends EventDefinition> {
  readonly category: string;
  readonly catalogue: EventCatalogue;
  readonly initial: State;
  evolve(state: State, fact: PastFact<D>): State;
}

export interface Writer {
  readonly events: EventStore;
  readonly ids: Ids;
  readonly clock: { now(): Date };
}

export interface Loaded<State> {
  readonly state: State;
  readonly revision: ExpectedRevision;
  readonly position: Position | null;
}

export interface Decided<State> {
  readonly state: State;
  /** Null when the decider had nothing to add. */
  readonly appended: Appended | null;
  /** Of the stream's last event; null while it has none. */
  readonly position: Position | null;
}

export const streamOf = (aggregate: { category: string }, id: string): string =>
  `${aggregate.category}-${id}`;

/** Folds a stream. A stream that does not exist has the initial state and revision `no-stream`. */
export async function loadAggregate<State, D extends EventDefinition>(
  events: EventStore,
  aggregate: Aggregate<State, D>,
  id: string,
): Promise<Loaded<State>> {
  const stored = await events.readStream(streamOf(aggregate, id));
  const last = stored.at(-1);
  const state = stored.reduce((current, event) => {
    const fact = readEvent(aggregate.catalogue, event);
    return fact === null ? current : aggregate.evolve(current, fact as PastFact<D>);
  }, aggregate.initial);
  return { state, revision: last?.revision ?? 'no-stream', position: last?.position ?? null };
}

/** The envelope of one fact, written now. */
export function envelope(author: Author, definition: EventDefinition, occurredAt: Date): EventMetadata {
  return {
    v: versionOf(definition),
    org_id: author.orgId,
    actor: author.actor,
    surface: author.surface,
    request_id: author.requestId,
    $correlationId: author.correlationId,
    $causationId: author.causationId,
    occurred_at: occurredAt.toISOString(),
  };
}

export interface FactsToAppend {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly catalogue: EventCatalogue;
  readonly facts: readonly { readonly type: string; readonly data: unknown }[];
  /** Absent = now. */
  readonly occurredAt?: Date;
}

/** Appends facts under a fresh attempt id; each is checked against its schema first. */
export async function appendFacts(
  writer: Writer,
  author: Author,
  { stream, expected, catalogue, facts, occurredAt = writer.clock.now() }: FactsToAppend,
): Promise<Appended> {
  const attemptId = writer.ids.newUuid();
  const events = facts.map((fact, index): NewEvent => {
    const definition = catalogue.get(fact.type);
    if (!definition) throw new Error(`${stream} has no event called ${fact.type}`);
    definition.data.parse(fact.data);
    return {
      id: uuidV5(stream, attemptId, String(index)),
      type: fact.type,
      data: fact.data as NewEvent['data'],
      metadata: envelope(author, definition, occurredAt),
    };
  });
  return await writer.events.append(stream, expected, events);
}

/** Two writers on one stream meet rarely; more refusals than this in a row mean something else is wrong. */
const MAX_ATTEMPTS = 8;

/**
 * Loads, decides and appends; loads and decides again when another writer was first. `decide` throws a `GatewayError`
 * to refuse and returns no facts when the state already holds what was asked.
 */
export async function decideAndAppend<State, D extends EventDefinition>(
  writer: Writer,
  author: Author,
  aggregate: Aggregate<State, D>,
  command: {
    readonly id: string;
    readonly decide: (state: State) => readonly Fact<D>[];
    /** The stream as it was read a moment ago, where it was; at another writer's event it is read anew. */
    readonly loaded?: Loaded<State>;
  },
): Promise<Decided<State>> {
  const stream = streamOf(aggregate, command.id);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const known = attempt === 1 ? command.loaded : undefined;
    const { state, revision, position } =
      known ?? (await loadAggregate(writer.events, aggregate, command.id));
    const facts = command.decide(state);
    if (facts.length === 0) return { state, appended: null, position };
    // The state answered is the one that is read back later, to the millisecond.
    const occurredAt = writer.clock.now();
    try {
      const appended = await appendFacts(writer, author, {
        stream,
        expected: revision,
        catalogue: aggregate.catalogue,
        facts,
        occurredAt,
      });
      const after = foldFacts(aggregate, state, facts, { author, at: occurredAt });
      return { state: after, appended, position: appended.position };
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
    }
  }
  throw new GatewayError('overloaded', 'Many writers change this object at once; try again.');
}

/** The state after facts just appended, without reading them back. */
export function foldFacts<State, D extends EventDefinition>(
  aggregate: Aggregate<State, D>,
  state: State,
  facts: readonly { readonly type: string; readonly data: unknown }[],
  written: { readonly author: Author; readonly at: Date },
): State {
  return facts.reduce((current, fact) => {
    const definition = aggregate.catalogue.get(fact.type);
    if (!definition) return current;
    const meta = envelope(written.author, definition, written.at);
    const past = { type: fact.type, data: definition.data.parse(fact.data), meta };
    return aggregate.evolve(current, past as PastFact<D>);
  }, state);
}
