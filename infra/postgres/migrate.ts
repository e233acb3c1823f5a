/**
 * Brings the database to the schema of this version: five schemas, then the numbered files, each exactly
 * once.
 */
import { endConnection, openDirectConnection } from './direct-connection.ts';
import type { Client } from 'pg';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

/** The importance of each: docs/architecture.md#postgres-by-importance. */
const SCHEMAS = ['log', 'vault', 'work', 'mirror', 'read'];

/** An arbitrary fixed number: every process that migrates this database takes this lock. */
const LOCK = 7_303_180_123;

/** The gateway's own migration files. */
export const MIGRATIONS = new URL('migrations/', import.meta.url);

export interface MigrateOptions {
  /** A direct address, not that of a transaction pooler. */
  readonly url: string;
  /** A folder of migration files; absent = the gateway's own. */
  readonly folder?: URL;
  /** The name of the last migration to apply: a restored backup is loaded at the level it was written at. */
  readonly upTo?: string;
}

/**
 * Applies missing migrations and returns their names. Gateways that start at once wait for each other. Throws
 * one sentence, and applies nothing, when a past migration was changed, is missing here or was overtaken.
 */
export async function migrate(options: MigrateOptions): Promise<readonly string[]> {
  const { folder = MIGRATIONS, upTo } = options;
  const known = await readMigrations(folder);
  const migrations = upTo === undefined ? known : known.filter(({ name }) => name <= upTo);
  const client = await openDirectConnection(options.url, 'gateway migrations');
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    return await applyMissing(client, migrations);
  } finally {
    // Ending the session frees the lock.
    await endConnection(client);
  }
}

async function applyMissing(client: Client, migrations: readonly Migration[]): Promise<readonly string[]> {
  for (const schema of SCHEMAS) await client.query(`create schema if not exists ${schema}`);
  // Outside the five schemas: a restored `vault` must not contain the record of another database's schema.
  await client.query(
    'create table if not exists public.gateway_migration (name text primary key, sha256 text not null, applied_at timestamptz not null default now())',
  );
  const { rows } = await client.query<{ name: string; sha256: string }>(
    'select name, sha256 from public.gateway_migration order by name',
  );
  refuseAnotherPast(rows, migrations);
  const missing = migrations.slice(rows.length);
  for (const migration of missing) await apply(client, migration);
  return missing.map((migration) => migration.name);
}

function refuseAnotherPast(
  past: readonly { name: string; sha256: string }[],
  migrations: readonly Migration[],
): void {
  for (const [index, applied] of past.entries()) {
    const known = migrations.find((migration) => migration.name === applied.name);
    if (known === undefined) {
      throw new Error(
        `The database has the migration ${applied.name}, which this version does not know: start the version that made it, or a newer one.`,
      );
    }
    if (known.sha256 !== applied.sha256) {
      throw new Error(
        `The migration ${applied.name} was changed after it was applied: restore the file and put the change into a new one.`,
      );
    }
    const expected = migrations[index];
    if (expected !== known) {
      throw new Error(
        `The migration ${expected?.name ?? ''} is numbered before ${applied.name}, which was applied already: give it a later number.`,
      );
    }
  }
}

async function apply(client: Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(migration.sql);
    await client.query('insert into public.gateway_migration (name, sha256) values ($1, $2)', [
      migration.name,
      migration.sha256,
    ]);
    await client.query('commit');
  } catch (cause) {
    await client.query('rollback');
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The migration ${migration.name} failed and was rolled back: ${reason}`, { cause });
  }
}

/** A migration file. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

const FILE_NAME = /^\d{4}-[a-z0-9-]+\.sql$/;

/**
 * Reads `NNNN-what-it-adds.sql` files in order. Throws one sentence for an invalid name or a number used
 * twice.
 */
export async function readMigrations(folder: URL): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).sort();
  const migrations: Migration[] = [];
  for (const name of names) {
    if (!FILE_NAME.test(name))
      throw new Error(`${name} is not named like a migration (0001-what-it-adds.sql).`);
    if (migrations.at(-1)?.name.slice(0, 4) === name.slice(0, 4)) {
      throw new Error(`Two migrations have the number ${name.slice(0, 4)}.`);
    }
    // A checkout with CRLF line ends is the same migration.
    const sql = (await readFile(new URL(name, folder), 'utf8')).replaceAll('\r\n', '\n');
    migrations.push({ name, sql, sha256: createHash('sha256').update(sql).digest('hex') });
  }
  return migrations;
}
