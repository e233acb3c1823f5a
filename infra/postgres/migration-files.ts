/** The migration files of a folder, in order. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

const FILE_NAME = /^\d{4}-[a-z0-9-]+\.sql$/;

/** Reads `NNNN-what-it-adds.sql` files. Throws one sentence at a name that does not fit or a number used twice. */
export async function readMigrations(folder: URL): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).sort();
  const migrations: Migration[] = [];
  for (const name of names) {
    if (!FILE_NAME.test(name))
      throw new Error(`${name} is not named like a migration (0001-what-it-adds.sql).`);
    if (migrations.at(-1)?.name.slice(0, 4) === name.slice(0, 4)) {
      throw new Error(`Two migrations have the number ${name.slice(0, 4)}.`);
    }
    // A checkout that turns line ends into CRLF is still the same migration.
    const sql = (await readFile(new URL(name, folder), 'utf8')).replaceAll('\r\n', '\n');
    migrations.push({ name, sql, sha256: createHash('sha256').update(sql).digest('hex') });
  }
  return migrations;
}
