/**
 * The `Range` header (RFC 9110 14): one range of bytes; anything else is answered whole, as the RFC allows. Parsed before the
 * length is known, which may cost a read. `range-parser` needs the length, and refuses a suffix longer than the content,
 * which RFC 9110 14.1.2 answers whole.
 */

export type AskedRange =
  | { readonly kind: 'from'; readonly first: number; readonly last: number | null }
  | { readonly kind: 'suffix'; readonly length: number };

/** First and last byte, counted from 0, both included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Null for no range, several, another unit, or what is no range at all. */
export function askedRange(header: string | undefined): AskedRange | null {
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '') ?? [];
  if (first === '') return last === '' ? null : { kind: 'suffix', length: Number(last) };
  if (last !== '' && Number(last) < Number(first)) return null;
  return { kind: 'from', first: Number(first), last: last === '' ? null : Number(last) };
}

/** What of `length` bytes was asked for; null when it holds none of them (416). */
export function rangeWithin(asked: AskedRange, length: number): ByteRange | null {
  const first = asked.kind === 'suffix' ? Math.max(0, length - asked.length) : asked.first;
  const last = asked.kind === 'suffix' ? length - 1 : Math.min(asked.last ?? length - 1, length - 1);
  return first <= last ? { first, last } : null;
}
