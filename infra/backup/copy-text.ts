/** Reads single values out of a file of COPY in text form (PostgreSQL documentation, "COPY", "Text Format"). */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

const unzip = promisify(gunzip);

const CONTROL: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** The rows of a small file by column name, null for NULL. Throws when it is not whole. */
export async function readCopyFile(
  path: string,
  columns: readonly string[],
): Promise<readonly Readonly<Record<string, string | null>>[]> {
  const text = (await unzip(await readFile(path))).toString();
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const values = line.split('\t').map(valueOf);
      return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));
    });
}

/** `\x0aff…`, as a bytea is written. */
export const bytesOf = (value: string): Buffer => Buffer.from(value.replace(/^\\x/, ''), 'hex');

const valueOf = (field: string): string | null =>
  field === '\\N' ? null : field.replace(/\\(.)/g, (_, letter: string) => CONTROL[letter] ?? letter);
