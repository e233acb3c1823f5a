/** What is refused before it reaches the client, which would hang or quietly change it instead. */
import type { NewEvent } from '../../commands/kernel/ports.ts';

/** `<aggregate>-<id>`: one camelCase word, a dash, printable ASCII. The category ends at the first dash. */
const STREAM_NAME = /^[a-z][A-Za-z0-9]*-[\x21-\x7e]{1,200}$/;

const UUID_FORM = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Deeper data is a mistake, and a cycle is endlessly deep. */
const MOST_DEPTH = 32;

/** Throws `TypeError` for a name that is not of the form; system streams and derived names never pass. */
export function requireStreamName(name: string): void {
  if (!STREAM_NAME.test(name))
    throw new TypeError(`"${name}" is not a stream name of the form <aggregate>-<id>`);
}

/**
 * Throws `TypeError` unless there is at least one event, every id is a UUID and all data is JSON as it stands:
 * `JSON.stringify` inside the client throws where nobody can catch it, and drops or rewrites what it does not know.
 */
export function requireEvents(events: readonly NewEvent[]): void {
  if (events.length === 0) throw new TypeError('an append needs at least one event');
  for (const event of events) {
    if (!UUID_FORM.test(event.id)) throw new TypeError(`the id of ${event.type} is not a UUID`);
    requireJson(event.data, `${event.type}.data`, 0);
    requireJson(event.metadata, `${event.type}.metadata`, 0);
  }
}

function requireJson(value: unknown, path: string, depth: number): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'number' && Number.isFinite(value)) return;
  if (typeof value !== 'object') throw new TypeError(`${path} is ${typeof value}, which JSON cannot hold`);
  if (depth === MOST_DEPTH) throw new TypeError(`${path} is nested too deeply`);
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      requireJson(item, `${path}[${String(index)}]`, depth + 1);
    });
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`${path} is not a plain object`);
  }
  for (const [key, item] of Object.entries(value)) requireJson(item, `${path}.${key}`, depth + 1);
}
