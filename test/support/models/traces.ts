/** Finds secrets in a log: the text itself, or a plain hash that can be compared with guesses. */
import { createHash } from 'node:crypto';
import type { Sql } from '../../../commands/ports/ports.ts';

/** Data and metadata of every event as the embedded node stores them, byte for byte, with its `type`. */
export async function storedBytes(
  sql: Sql,
): Promise<readonly { readonly type: string; readonly raw: string }[]> {
  return await sql.query<{ type: string; raw: string }>(
    `select type, stream || ' ' || convert_from(data, 'UTF8') || ' ' || convert_from(metadata, 'UTF8') as raw
     from log.event where not starts_with(type, '$') order by position`,
  );
}

/** One sentence for each event that contains one of the texts in one of these forms. */
export function tracesOf(
  events: readonly { readonly type: string; readonly raw: string }[],
  texts: readonly string[],
): readonly string[] {
  const forms = texts.flatMap((text) => formsOf(text).map(([form, bytes]) => [text, form, bytes] as const));
  return events.flatMap(({ type, raw }) =>
    forms
      .filter(([, , bytes]) => raw.includes(bytes))
      .map(([text, form]) => `${type} tells "${text}" ${form}`),
  );
}

const ENCODINGS = ['hex', 'base64', 'base64url'] as const;

function formsOf(text: string): readonly (readonly [form: string, bytes: string])[] {
  const hashes = ENCODINGS.flatMap((encoding) =>
    ['sha1', 'sha256'].map(
      (name) => [`as ${name} in ${encoding}`, createHash(name).update(text).digest(encoding)] as const,
    ),
  );
  return [['in clear', text], ...hashes];
}
