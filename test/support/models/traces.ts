/** Finds secrets in a log: the text itself, or a plain hash that can be compared with guesses. */
import { createHash, createHmac } from 'node:crypto';
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

interface Stored {
  readonly type: string;
  readonly raw: string;
}

/** Every row of every table as text; bytes are hexadecimal there. */
export async function storedRows(sql: Sql): Promise<readonly Stored[]> {
  const tables = await sql.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  const rows: Stored[] = [];
  for (const { name } of tables) {
    const found = await sql.query<{ raw: string }>(`select t::text as raw from ${name} t`);
    rows.push(...found.map(({ raw }) => ({ type: name, raw })));
  }
  return rows;
}

/**
 * The guesses that what is stored confirms: as text, as a plain or unkeyed hash, or as a hash over a salt that is stored too, such as a
 * commitment or a leaf. Each with the place that tells it.
 */
export function confirmedGuesses(stored: readonly Stored[], guesses: readonly string[]): readonly string[] {
  const salts = [
    ...new Set(stored.flatMap(({ raw }) => [...raw.matchAll(SALT)].map(([, salt = '']) => salt))),
  ];
  const tokens = new Map(
    stored.flatMap(({ type, raw }) => (raw.match(TOKEN) ?? []).map((token) => [token, type])),
  );
  return guesses.flatMap((guess) =>
    [...new Set([guess, guess.toLowerCase()])].flatMap((text) => [
      ...plainForms(text).flatMap((form) =>
        stored
          .filter(({ raw }) => raw.includes(form))
          .map(({ type }) => `${type} tells "${guess}" as ${form}`),
      ),
      ...salts.flatMap((salt) =>
        saltedHashes(Buffer.from(salt, 'base64url'), text).flatMap((hash) => {
          const type = tokens.get(hash);
          return type === undefined ? [] : [`${type} tells "${guess}" under a salt that is stored`];
        }),
      ),
    ]),
  );
}

const SALT = /"salt": ?"([\w-]{22})"/g;
/** What may be a SHA-256. */
const TOKEN = /[\w+/-]{43,64}/g;

function plainForms(text: string): readonly string[] {
  const hashes = [
    ...['md5', 'sha1', 'sha256', 'sha512'].map((name) => createHash(name).update(text).digest()),
    createHmac('sha256', '').update(text).digest(),
    createHash('sha256').update(Buffer.of(0)).update(text).digest(),
    createHash('sha256').update(Buffer.of(2)).update(text).digest(),
  ];
  return [Buffer.from(text), ...hashes].flatMap((bytes) => encodings(bytes)).concat(text);
}

function saltedHashes(salt: Buffer, text: string): readonly string[] {
  const hashes = [
    createHash('sha256').update(salt).update(text).digest(),
    createHash('sha256').update(Buffer.of(2)).update(salt).update(text).digest(),
    createHmac('sha256', salt).update(text).digest(),
  ];
  return hashes.flatMap((bytes) => encodings(bytes));
}

const encodings = (bytes: Buffer): readonly string[] => [
  bytes.toString('hex'),
  bytes.toString('base64').replace(/=+$/, ''),
  bytes.toString('base64url'),
];
