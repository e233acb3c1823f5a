/** A place in `$all`: the commit position, compared and never calculated with. */
export type Position = bigint;

/** A place as callers carry it: the short id of the log it lies in, and the position there. */
export const writePosition = (logId: string, position: Position): string => `${logId}-${String(position)}`;

/** The position of a written place, null when it lies in another log. Undefined for a text that `writePosition` did not write. */
export function readPosition(logId: string, text: string): Position | null | undefined {
  const [, source, position] = /^([0-9a-z]{1,16})-(\d{1,19})$/.exec(text) ?? [];
  if (source === undefined || position === undefined) return undefined;
  return source === logId ? BigInt(position) : null;
}
