/** The filters of a `$all` read: stream name or event type, by prefixes or by regular expression. */
import { RE2JS } from 're2js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { StoredRecord } from './stored-record.ts';

type FilterOptions = streams.ReadReq.Options.FilterOptions;

export interface EventFilter {
  readonly matches: (record: StoredRecord) => boolean;
  /** Events per search window. */
  readonly searchWindow: number;
  /** Events between two checkpoints. */
  readonly checkpointEvery: number;
}

/** The search window when the request sets none. */
const DEFAULT_WINDOW = 32;

export class BadFilter extends Error {}

/** Throws `BadFilter` for an empty filter, a bad expression, or a non-positive window or multiplier. */
export function parseFilter(options: FilterOptions): EventFilter {
  const window = options.hasMax() ? options.getMax() : DEFAULT_WINDOW;
  const multiplier = options.getCheckpointintervalmultiplier();
  if (window <= 0 || multiplier <= 0) throw new BadFilter('window and checkpoint interval must be positive');
  const byStream = options.getStreamIdentifier();
  const expression = byStream ?? options.getEventType();
  if (!expression) throw new BadFilter('the filter names neither streams nor event types');
  const accepts = textMatcher(expression.getRegex(), expression.getPrefixList());
  return {
    matches: byStream ? (record) => accepts(record.stream) : (record) => accepts(record.type),
    searchWindow: window,
    checkpointEvery: window * multiplier,
  };
}

function textMatcher(regex: string, prefixes: readonly string[]): (text: string) => boolean {
  if (regex === '') return (text) => prefixes.some((prefix) => text.startsWith(prefix));
  try {
    // Runs in linear time: a JavaScript expression could block the whole process on one event.
    const pattern = RE2JS.compile(RE2JS.translateRegExp(regex));
    return (text) => pattern.test(text);
  } catch (error) {
    throw new BadFilter(`bad regular expression: ${String(error)}`);
  }
}
