/** Events: one definition per type, its schema versions, and the envelope every stored event carries. */
import { z } from 'zod';
import type { Position } from './position.ts';
import { type Publication, publicationOf, type PublishedAs } from './webhook-event.ts';

export interface EventDefinition<Type extends string = string, Data extends z.ZodType = z.ZodType> {
  /** Past tense, PascalCase; never renamed once stored. */
  readonly type: Type;
  readonly data: Data;
  /** Pure steps from version n to n + 1, oldest first; stored bytes are never rewritten. */
  readonly upcasters: readonly Upcaster[];
  /** What webhooks say of it; null when the outside does not hear of it. */
  readonly webhook: Publication | null;
  readonly summary: string;
}

export type Upcaster = (data: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/** Declares an event. Its schema version is one more than the number of upcasters. */
export function defineEvent<
  Type extends string,
  Data extends z.ZodType,
  Told extends z.ZodObject,
>(definition: {
  type: Type;
  data: Data;
  summary: string;
  upcasters?: readonly Upcaster[];
  webhook: PublishedAs<z.output<Data>, Told> | Publication<z.output<Data>> | null;
}): EventDefinition<Type, Data> {
  const { webhook } = definition;
  const publication = webhook !== null && 'adds' in webhook ? publicationOf(webhook) : webhook;
  return { upcasters: [], ...definition, webhook: publication as Publication | null };
}

export const versionOf = (definition: EventDefinition): number => definition.upcasters.length + 1;

/** The result of a decider: a type of the aggregate and data of its schema. */
export type Fact<D extends EventDefinition = EventDefinition> =
  D extends EventDefinition<infer Type, infer Data>
    ? { readonly type: Type; readonly data: z.input<Data> }
    : never;

/** A stored fact, upcast to the newest version and validated. */
export type PastFact<D extends EventDefinition = EventDefinition> =
  D extends EventDefinition<infer Type, infer Data>
    ? { readonly type: Type; readonly data: z.output<Data>; readonly meta: EventMetadata }
    : never;

export const ACTOR_TYPES = ['person', 'delegated', 'agent', 'system'] as const;
export const SURFACES = ['rest', 'mcp', 'console', 'system'] as const;

export const EventMetadata = z.object({
  v: z.int().min(1),
  org_id: z.string().nullable(),
  actor: z.object({
    type: z.enum(ACTOR_TYPES),
    id: z.string(),
    token_id: z.string().nullable(),
    session_id: z.string().nullable(),
    /** Address and user agent as JSON, sealed under the principal's key. */
    client: z.string().optional(),
  }),
  surface: z.enum(SURFACES),
  request_id: z.string(),
  $correlationId: z.string(),
  $causationId: z.string(),
  occurred_at: z.iso.datetime(),
  /** The mailbox and the approval that the event is about, if any. */
  mailbox_id: z.string().optional(),
  approval_id: z.string().optional(),
  /** The MCP session of the request, hashed. */
  mcp_session: z.string().optional(),
  /**
   * 16 random bytes, base64url: hidden parts of the event cannot be guessed from its hash. Absent in older
   * events.
   */
  salt: z.string().optional(),
});
export type EventMetadata = z.output<typeof EventMetadata>;

/** Event definitions by type; refuses duplicates. */
export type EventCatalogue = ReadonlyMap<string, EventDefinition>;

export function catalogueOf(definitions: readonly EventDefinition[]): EventCatalogue {
  const catalogue = new Map<string, EventDefinition>();
  for (const definition of definitions) {
    if (catalogue.has(definition.type)) throw new Error(`two events are called ${definition.type}`);
    catalogue.set(definition.type, definition);
  }
  return catalogue;
}

/**
 * A stored event in its newest version. Null for a type that is not in the catalogue. Throws when data or
 * metadata do not fit, because no decision may use a misread event.
 */
export function readEvent(catalogue: EventCatalogue, stored: StoredEvent): PastFact | null {
  const definition = catalogue.get(stored.type);
  if (!definition) return null;
  const meta = EventMetadata.parse(stored.metadata);
  if (meta.v > versionOf(definition)) {
    throw new Error(`${stored.type} of version ${String(meta.v)} was written by a newer gateway`);
  }
  const upcast = definition.upcasters
    .slice(meta.v - 1)
    .reduce<Readonly<Record<string, unknown>>>((data, step) => step(data), stored.data);
  return { type: stored.type, data: definition.data.parse(upcast), meta };
}

export interface NewEvent {
  /** UUIDv5(stream, attempt id, index): only a repetition of the identical append has the same id. */
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly streamName: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly data: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Base64 of data or metadata that is not a JSON object: it is another writer's, and reads as empty. */
  readonly opaque?: { readonly data?: string; readonly metadata?: string };
  readonly storedAt: Date;
}

/** Credentials are distinguished by the prefix of the id. */
export const isOAuthGrantId = (tid: string): boolean => tid.startsWith('oag_');
export const isSessionId = (tid: string): boolean => tid.startsWith('ses_');

export const credentialIds = (tid: string): Pick<EventMetadata['actor'], 'token_id' | 'session_id'> =>
  isSessionId(tid) ? { token_id: null, session_id: tid } : { token_id: tid, session_id: null };
