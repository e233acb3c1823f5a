/** The only way to write events: load a stream, fold it, decide, append at the exact revision. */
import {
  type EventCatalogue,
  type EventDefinition,
  type EventMetadata,
  type Fact,
  type NewEvent,
  type PastFact,
  readEvent,
  type StoredEvent,
  versionOf,
} from '../values/event.ts';
import { GatewayError } from '../values/errors.ts';
import type { AccessEntry, Ids, Ports } from '../ports/ports.ts';
import {
  type Appended,
  type EventStore,
  type ExpectedRevision,
  WrongExpectedRevision,
} from '../ports/event-store.ts';
import type { Position } from '../values/position.ts';
import { uuidV5 } from '../values/ids.ts';

/** The part of the envelope that all events of one request share. */
export interface Author {
  readonly orgId: string | null;
  readonly actor: EventMetadata['actor'];
  readonly surface: EventMetadata['surface'];
  readonly requestId: string;
  readonly correlationId: string;
  readonly causationId: string;
  /** The MCP session, hashed; absent where there is none. */
  readonly mcpSession?: string;
}

/** Members of the envelope: the objects that an event is about, besides its stream. */
export type About = Pick<EventMetadata, 'mailbox_id' | 'approval_id'>;

/** A kind of stream: its category, its events, and how they fold into a state. */
export interface Aggregate<State, D extends EventDefinition> {
  readonly category: string;
  readonly catalogue: EventCatalogue;
  readonly initial: State;
  evolve(state: State, fact: PastFact<D>): State;
  /** The `About` of the events of one append, from the states before and after. */
  about?(id: string, before: State, after: State): About;
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

interface Decided<State> {
  readonly state: State;
  /** Null when the decider added nothing. */
  readonly appended: Appended | null;
  /** Of the stream's last event; null while it has none. */
  readonly position: Position | null;
}

export const streamOf = (aggregate: { category: string }, id: string): string =>
  `${aggregate.category}-${id}`;

/** Folds a stream. A stream that does not exist has the initial state and revision `no-stream`. */
export async function loadAggregate<State, D extends EventDefinition>(
  events: Pick<EventStore, 'readStream'>,
  aggregate: Aggregate<State, D>,
  id: string,
): Promise<Loaded<State>> {
  return foldStored(aggregate, await events.readStream(streamOf(aggregate, id)));
}

/** What `loadAggregate` returns, for a stream that was read already. */
export function foldStored<State, D extends EventDefinition>(
  aggregate: Aggregate<State, D>,
  stored: readonly StoredEvent[],
): Loaded<State> {
  const last = stored.at(-1);
  const state = stored.reduce((current, event) => {
    const fact = readEvent(aggregate.catalogue, event);
    return fact === null ? current : aggregate.evolve(current, fact as PastFact<D>);
  }, aggregate.initial);
  return { state, revision: last?.revision ?? 'no-stream', position: last?.position ?? null };
}

/** The envelope of one fact; `newEvents` adds its salt and id. */
export function envelope(
  author: Author,
  definition: EventDefinition,
  occurredAt: Date,
  about: About = {},
): EventMetadata {
  return {
    v: versionOf(definition),
    org_id: author.orgId,
    actor: author.actor,
    surface: author.surface,
    request_id: author.requestId,
    $correlationId: author.correlationId,
    $causationId: author.causationId,
    occurred_at: occurredAt.toISOString(),
    ...about,
    ...(author.mcpSession === undefined ? {} : { mcp_session: author.mcpSession }),
  };
}

const namedIn = (data: Readonly<Record<string, unknown>>): About => {
  const { mailbox_id, approval_id } = data;
  return {
    ...(typeof mailbox_id === 'string' ? { mailbox_id } : {}),
    ...(typeof approval_id === 'string' ? { approval_id } : {}),
  };
};

interface AnyFact {
  readonly type: string;
  readonly data: unknown;
}

interface FactsToAppend {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly catalogue: EventCatalogue;
  readonly facts: readonly AnyFact[];
  /** Absent = now. */
  readonly occurredAt?: Date;
  /** Besides the ids in the data of the event. */
  readonly about?: About;
}

/** Appends facts under a fresh attempt id; each is checked against its schema first. */
export async function appendFacts(
  writer: Writer,
  author: Author,
  { stream, expected, catalogue, facts, occurredAt = writer.clock.now(), about = {} }: FactsToAppend,
): Promise<Appended> {
  const entries = facts.map((fact) => {
    const definition = catalogue.get(fact.type);
    if (!definition) throw new Error(`${stream} has no event called ${fact.type}`);
    definition.data.parse(fact.data);
    const data = fact.data as Readonly<Record<string, unknown>>;
    return {
      type: fact.type,
      data,
      metadata: envelope(author, definition, occurredAt, { ...namedIn(data), ...about }),
    };
  });
  return await writer.events.append(stream, expected, newEvents(writer.ids, stream, entries));
}

/** Like `appendFacts`; null when another writer was first. */
export async function appendOrNull(
  writer: Writer,
  author: Author,
  to: FactsToAppend,
): Promise<Appended | null> {
  try {
    return await appendFacts(writer, author, to);
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return null;
    throw error;
  }
}

/** Facts of an aggregate, decided on this state at this revision. */
interface DecidedFacts<State> {
  readonly id: string;
  readonly state: State;
  readonly revision: ExpectedRevision;
  readonly facts: readonly AnyFact[];
  readonly occurredAt: Date;
}

/** Appends at exactly that revision; returns the state after it, as a later read returns it. Null like `appendOrNull`. */
export async function appendDecided<State, D extends EventDefinition>(
  writer: Writer,
  author: Author,
  aggregate: Aggregate<State, D>,
  { id, state, revision, facts, occurredAt }: DecidedFacts<State>,
): Promise<{ readonly state: State; readonly appended: Appended } | null> {
  const after = foldFacts(aggregate, state, facts, { author, at: occurredAt });
  const appended = await appendOrNull(writer, author, {
    stream: streamOf(aggregate, id),
    expected: revision,
    catalogue: aggregate.catalogue,
    facts,
    occurredAt,
    about: aggregate.about?.(id, state, after) ?? {},
  });
  return appended && { state: after, appended };
}

/** Two writers rarely meet on one stream; more lost appends in a row have another cause. */
const MAX_ATTEMPTS = 8;

/** Repeats an attempt that returns null because another writer was first. Throws `overloaded` after the last one. */
export async function retryAppend<Result>(
  attempt: (number: number) => Promise<Result | null>,
  pause: (number: number) => Promise<void> = () => Promise.resolve(),
): Promise<Result> {
  for (let number = 1; number <= MAX_ATTEMPTS; number += 1) {
    const result = await attempt(number);
    if (result !== null) return result;
    await pause(number);
  }
  throw new GatewayError('overloaded', 'Many writers are changing this object; try again.');
}

/**
 * Loads, decides and appends; repeats when another writer was first. `decide` throws a `GatewayError` to refuse, and returns
 * no facts when nothing has to change. Its `now` is also the time of the events, to the millisecond.
 */
export async function decideAndAppend<State, D extends EventDefinition>(
  writer: Writer,
  author: Author,
  aggregate: Aggregate<State, D>,
  command: {
    readonly id: string;
    readonly decide: (state: State, now: Date) => readonly Fact<D>[];
    /** The stream, if it was just read; read again only when another writer was first. */
    readonly loaded?: Loaded<State>;
  },
): Promise<Decided<State>> {
  const { id, decide } = command;
  return await retryAppend(async (attempt) => {
    const known = attempt === 1 ? command.loaded : undefined;
    const { state, revision, position } = known ?? (await loadAggregate(writer.events, aggregate, id));
    const occurredAt = writer.clock.now();
    const facts = decide(state, occurredAt);
    if (facts.length === 0) return { state, appended: null, position };
    const written = await appendDecided(writer, author, aggregate, {
      id,
      state,
      revision,
      facts,
      occurredAt,
    });
    return written && { ...written, position: written.appended.position };
  });
}

/** The state after facts just appended, without reading them back. */
export function foldFacts<State, D extends EventDefinition>(
  aggregate: Aggregate<State, D>,
  state: State,
  facts: readonly AnyFact[],
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

/** The events of one append, under a new attempt id unless their ids are given. */
export function newEvents(
  ids: Ids,
  stream: string,
  entries: readonly AccessEntry[],
  idOf = underNewAttempt(ids, stream),
): NewEvent[] {
  return entries.map((entry, index) => {
    const { type, data, metadata } = entry;
    return { id: idOf(entry, index), type, data, metadata: { ...metadata, salt: ids.newSalt() } };
  });
}

function underNewAttempt(ids: Ids, stream: string): (entry: AccessEntry, index: number) => string {
  const attemptId = ids.newUuid();
  return (_, index) => uuidV5(stream, attemptId, String(index));
}

/** The gateway itself as the author of an event, for work without a request. */
export function systemAuthor(ports: Pick<Ports, 'ids'>, orgId: string | null): Author {
  const requestId = ports.ids.newId('req');
  return {
    orgId,
    actor: { type: 'system', id: 'gateway', token_id: null, session_id: null },
    surface: 'system',
    requestId,
    correlationId: requestId,
    causationId: requestId,
  };
}
