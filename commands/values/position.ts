/** A place in `$all`: the commit position. Only compared, never used in arithmetic. */
export type Position = bigint;

/** The later one; null is before all. */
export const laterOf = (a: Position | null, b: Position | null): Position | null =>
  a === null || (b !== null && b > a) ? b : a;

/** A place in the form for callers: the short id of its log, and the position there. */
export const writePosition = (logId: string, position: Position): string => `${logId}-${String(position)}`;

/**
 * The position in a written place; null when it belongs to another log, undefined for a text that
 * `writePosition` did not write.
 */
export function readPosition(logId: string, text: string): Position | null | undefined {
  const [, source, position] = /^([0-9a-z]{1,16})-(\d{1,19})$/.exec(text) ?? [];
  if (source === undefined || position === undefined) return undefined;
  return source === logId ? BigInt(position) : null;
}
