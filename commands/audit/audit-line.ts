/**
 * The line of an event in its trail (`docs/audit-format.md` 2). It is made from the stored event alone, so that the log decides
 * what was proven: no upcaster and no newer version of the gateway changes a leaf.
 */
import { canonicalJson, isDeeperThan } from '../values/canonical-json.ts';
import type { StoredEvent } from '../values/event.ts';
import { uuidToId } from '../values/ids.ts';
import { isJsonObject } from '../values/json-object.ts';
import { sha256 } from './sha256.ts';

export interface TrailLine {
  /** `org_…`, `usr_…` or `system`. */
  readonly trail: string;
  /** Counts the lines of the trail from 1. */
  readonly seq: number;
  /** The public part, canonical JSON. */
  readonly line: string;
  /** The part that can be hidden, canonical JSON. */
  readonly body: string;
  /** 16 bytes; null for an event from before salts. */
  readonly salt: Uint8Array | null;
  /** SHA-256(0x00 | line | SHA-256(salt | body)). */
  readonly leaf: Uint8Array;
}

/** The trail of what belongs neither to an organisation nor to one person. */
export const SYSTEM_TRAIL = 'system';

const ORGANISATION = /^org_[0-9a-z]{1,64}$/;
const PERSON = /^usr_[0-9a-z]{1,64}$/;
const TRAIL_STREAM = /^auditSeal-(.+)$/;

/** The trail of an event: total, also for events that no reader knows. */
export function trailOf({ streamName, metadata }: Pick<StoredEvent, 'streamName' | 'metadata'>): string {
  const own = TRAIL_STREAM.exec(streamName)?.[1];
  if (own !== undefined && isTrail(own)) return own;
  const orgId = metadata['org_id'];
  if (typeof orgId === 'string' && ORGANISATION.test(orgId)) return orgId;
  const subject = streamName.slice(streamName.indexOf('-') + 1);
  if (PERSON.test(subject)) return subject;
  const actorId = isJsonObject(metadata['actor']) ? metadata['actor']['id'] : null;
  return typeof actorId === 'string' && PERSON.test(actorId) ? actorId : SYSTEM_TRAIL;
}

/** True for the name of a trail. */
export const isTrail = (name: string): boolean =>
  name === SYSTEM_TRAIL || ORGANISATION.test(name) || PERSON.test(name);

/** Streams whose id is made from an address: the line shows only the category. */
const NAMED_BY_ADDRESS: readonly string[] = ['uniqueEmail'];

/** Of the 64 levels of a body, what the parts around the data need is left. */
const MOST_LEVELS = 60;

/** The line of an event as the `seq`-th of its trail. */
export function trailLine(stored: StoredEvent, seq: number): TrailLine {
  const trail = trailOf(stored);
  const salt = saltOf(stored.metadata['salt']);
  const stream = shownStream(stored.streamName);
  const line = lineText(stored, { seq, stream, trail, hasSalt: salt !== null });
  const body = canonicalJson({
    ...dataOf(stored),
    ...metaOf(stored, trail, salt),
    ...(stream === stored.streamName ? {} : { stream: stored.streamName }),
  });
  return { trail, seq, line, body, salt, leaf: leafHash(line, bodyHash(body, salt)) };
}

/** SHA-256(salt | body). */
export const bodyHash = (body: string, salt: Uint8Array | null): Buffer =>
  sha256(salt ?? Buffer.alloc(0), Buffer.from(body));

/** SHA-256(0x00 | line | body hash). */
export const leafHash = (line: string, hashOfBody: Uint8Array): Buffer =>
  sha256(LEAF, Buffer.from(line), hashOfBody);

const LEAF = Buffer.of(0);

const SALT_BYTES = 16;

function saltOf(value: unknown): Uint8Array | null {
  if (typeof value !== 'string') return null;
  const bytes = Buffer.from(value, 'base64url');
  return bytes.length === SALT_BYTES && bytes.toString('base64url') === value ? bytes : null;
}

function shownStream(streamName: string): string {
  const [category = ''] = streamName.split('-', 1);
  return NAMED_BY_ADDRESS.includes(category) ? category : streamName;
}

type Fields = Readonly<Record<string, unknown>>;

const ACTOR_MEMBERS = ['id', 'session_id', 'token_id', 'type'] as const;

interface Shown {
  readonly seq: number;
  readonly stream: string;
  readonly trail: string;
  readonly hasSalt: boolean;
}

/** Canonical by its order: members are written sorted, which costs a third of sorting them for each of a million lines. */
function lineText(stored: StoredEvent, { seq, stream, trail, hasSalt }: Shown): string {
  const { id, type, revision, metadata } = stored;
  const actor = isJsonObject(metadata['actor']) ? metadata['actor'] : {};
  return (
    `{"actor":{${ACTOR_MEMBERS.map((name) => `"${name}":${textOrNull(actor[name])}`).join(',')}}` +
    optional('approval_id', metadata['approval_id']) +
    `,"causation_id":${textOrNull(metadata['$causationId'])},"correlation_id":${textOrNull(metadata['$correlationId'])}` +
    `,"id":"${uuidToId('evt', id)}"` +
    optional('mailbox_id', metadata['mailbox_id']) +
    `,"occurred_at":${textOrNull(metadata['occurred_at'])},"request_id":${textOrNull(metadata['request_id'])}` +
    `,"revision":"${String(revision)}"${hasSalt ? '' : ',"salt":"none"'}` +
    `,"schema":${isVersion(metadata['v']) ? String(metadata['v']) : 'null'},"seq":${String(seq)}` +
    `,"stream":${JSON.stringify(stream)},"surface":${textOrNull(metadata['surface'])}` +
    `,"trail":"${trail}","type":${JSON.stringify(type)},"v":1}`
  );
}

const textOrNull = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : 'null');
const optional = (name: string, value: unknown): string =>
  typeof value === 'string' ? `,"${name}":${JSON.stringify(value)}` : '';
const isVersion = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && !Object.is(value, -0);

function dataOf({ data, opaque }: StoredEvent): Fields {
  if (opaque?.data !== undefined) return { data_base64: opaque.data };
  return isDeeperThan(data, MOST_LEVELS) ? { data_base64: deepBase64(data) } : { data };
}

/** What the line lacks of the metadata. */
function metaOf({ metadata, opaque }: StoredEvent, trail: string, salt: Uint8Array | null): Fields {
  if (opaque?.metadata !== undefined) return { meta_base64: opaque.metadata };
  if (isDeeperThan(metadata, MOST_LEVELS)) return { meta_base64: deepBase64(metadata) };
  const rest = Object.entries(metadata).filter(([name, value]) => !isCarried(name, value, trail, salt));
  return { meta: Object.fromEntries(rest.map(([name, value]) => [name, withoutCarried(name, value)])) };
}

const IN_LINE_AS_TEXT: ReadonlySet<string> = new Set([
  '$causationId',
  '$correlationId',
  'approval_id',
  'mailbox_id',
  'occurred_at',
  'request_id',
  'surface',
]);

function isCarried(name: string, value: unknown, trail: string, salt: Uint8Array | null): boolean {
  if (IN_LINE_AS_TEXT.has(name)) return typeof value === 'string';
  if (name === 'salt') return salt !== null;
  if (name === 'org_id') return value === trail;
  if (name === 'v') return isVersion(value);
  return name === 'actor' && isJsonObject(value) && Object.keys(withoutActorMembers(value)).length === 0;
}

const withoutCarried = (name: string, value: unknown): unknown =>
  name === 'actor' && isJsonObject(value) ? withoutActorMembers(value) : value;

const withoutActorMembers = (actor: Fields): Fields =>
  Object.fromEntries(
    Object.entries(actor).filter(
      ([name, value]) =>
        !(ACTOR_MEMBERS as readonly string[]).includes(name) || (value !== null && typeof value !== 'string'),
    ),
  );

/** A value too deep for a body, as canonical JSON in base64; without recursion. */
function deepBase64(value: unknown): string {
  const parts: string[] = [];
  const todo: (string | { readonly value: unknown })[] = [{ value }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if (typeof next === 'string') parts.push(next);
    else if (Array.isArray(next.value))
      todo.push(']', ...separated(next.value.map((item: unknown) => [{ value: item }])), '[');
    else if (isJsonObject(next.value)) todo.push('}', ...separated(sortedMembers(next.value)), '{');
    else parts.push(canonicalJson(next.value));
  }
  return Buffer.from(parts.join('')).toString('base64');
}

type Piece = string | { readonly value: unknown };

const sortedMembers = (value: Fields): Piece[][] =>
  Object.keys(value)
    .toSorted()
    .map((name) => [`${JSON.stringify(name)}:`, { value: value[name] }]);

/** With commas between, last first, as a stack takes it. */
const separated = (items: readonly (readonly Piece[])[]): Piece[] =>
  items.flatMap((item, at) => (at === 0 ? item : [',', ...item])).toReversed();
