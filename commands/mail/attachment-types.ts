/**
 * The possible types of an attachment, whatever its sender declares. Policy evaluates each, and the strictest
 * result applies.
 */
import { fileTypeFromBuffer } from 'file-type';
import { extensions } from 'mime-types';

/** Enough for every format that is recognized by its first bytes. */
const LEADING_BYTES = 4_100;

/** The type recognized from the leading bytes, else null. Reads no further than required. */
export async function sniffedType(
  bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<string | null> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    pieces.push(piece);
    length += piece.length;
    if (length >= LEADING_BYTES) break;
  }
  const found = await fileTypeFromBuffer(Buffer.concat(pieces).subarray(0, LEADING_BYTES));
  return found?.mime ?? null;
}

/** Every type of a file extension (the IANA registry and those of Apache and nginx). */
const typesByExtension: ReadonlyMap<string, readonly string[]> = new Map(
  [
    ...Map.groupBy(
      Object.entries(extensions).flatMap(([type, names]) => names.map((name) => ({ name, type }))),
      ({ name }) => name,
    ),
  ].map(([name, found]) => [name, found.map(({ type }) => type)]),
);

export interface TypedAttachment {
  readonly content_type: string;
  readonly filename: string | null;
  /** Absent in records written before bytes were inspected. */
  readonly sniffed_type?: string | null | undefined;
}

/** The declared type first, then those of the name and of the bytes; each once. */
export function typesOf({ content_type, filename, sniffed_type = null }: TypedAttachment): readonly string[] {
  // Systems drop dots and spaces at the end of a name.
  const name = (filename ?? '').toLowerCase().replace(/[\s.]+$/u, '');
  const extension = /\.([^.]+)$/.exec(name)?.[1];
  const named = extension === undefined ? [] : (typesByExtension.get(extension) ?? []);
  return [...new Set([content_type, ...named, ...(sniffed_type === null ? [] : [sniffed_type])])];
}
