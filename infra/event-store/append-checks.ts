/** Rejects appends that the client would hang on or silently change. */
import type { NewEvent } from '../../commands/values/event.ts';

/** `<aggregate>-<id>`: one camelCase word, a dash, printable ASCII. The category ends at the first dash. */
const STREAM_NAME = /^[a-z][A-Za-z0-9]*-[\x21-\x7e]{1,200}$/;

const UUID_FORM = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Deeper data is a defect; a cycle has no end. */
const MOST_DEPTH = 32;

/**
 * Characters of one event. A message over 17 MB ends the call all appends share (`RESOURCE_EXHAUSTED`), and a
 * character takes at most 6 bytes. The limit of a real server is lower.
 */
const MOST_CHARACTERS = 2 * 1_048_576;

/** `false`, and the longest number. */
const WORD_CHARACTERS = 5;
const NUMBER_CHARACTERS = 24;

/** Throws `TypeError` for any other form of name, which includes system streams and derived names. */
export function requireStreamName(name: string): void {
  if (!STREAM_NAME.test(name))
    throw new TypeError(`"${name}" is not a stream name of the form <aggregate>-<id>`);
}

/**
 * Throws `TypeError` unless there is at least one event, every id is a UUID, no event is too large and all
 * data is plain JSON: `JSON.stringify` inside the client throws where no caller can catch it, and drops or
 * rewrites values it does not know.
 */
export function requireEvents(events: readonly NewEvent[]): void {
  if (events.length === 0) throw new TypeError('an append needs at least one event');
  for (const { id, type, data, metadata } of events) {
    if (!UUID_FORM.test(id)) throw new TypeError(`the id of ${type} is not a UUID`);
    const characters = requireJson(data, [`${type}.data`]) + requireJson(metadata, [`${type}.metadata`]);
    if (characters > MOST_CHARACTERS) throw new TypeError(`${type} is too large for an event`);
  }
}

/** The approximate number of characters of the JSON, before escaping. `path` leads to the value, and is written only into an error. */
function requireJson(value: unknown, path: (string | number)[]): number {
  if (typeof value === 'string') return value.length;
  if (value === null || typeof value === 'boolean') return WORD_CHARACTERS;
  if (typeof value === 'number' && Number.isFinite(value)) return NUMBER_CHARACTERS;
  if (typeof value !== 'object')
    throw new TypeError(`${textOf(path)} is ${typeof value}, which JSON cannot hold`);
  if (path.length > MOST_DEPTH) throw new TypeError(`${textOf(path)} is nested too deeply`);
  let characters = 0;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1)
      characters += requireMember(value[index], index, path);
    return characters;
  }
  requirePlain(value, path);
  for (const key of Object.keys(value)) {
    characters += key.length + requireMember((value as Readonly<Record<string, unknown>>)[key], key, path);
  }
  return characters;
}

function requireMember(value: unknown, key: string | number, path: (string | number)[]): number {
  path.push(key);
  const characters = requireJson(value, path);
  path.pop();
  return characters;
}

function requirePlain(value: object, path: readonly (string | number)[]): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`${textOf(path)} is not a plain object`);
  }
}

const textOf = ([root, ...keys]: readonly (string | number)[]): string =>
  `${String(root)}${keys.map((key) => (typeof key === 'number' ? `[${String(key)}]` : `.${key}`)).join('')}`;
