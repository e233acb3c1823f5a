/** Checks a backup before anything is written: complete, of a known version, and readable with this key. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { readMigrations } from '../postgres/migrate.ts';
import { loadMasterKey } from '../security/key-file.ts';
import { opensGatewayKey } from '../security/vault.ts';
import { type Manifest, MANIFEST, readManifest, type StoredFile } from './backup-manifest.ts';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

export interface BackupChecks {
  /** The backup's folder. */
  readonly source: string;
  readonly keyFile: string;
  readonly migrations: URL;
  readonly signal: AbortSignal;
}

/** The manifest of a backup that passed. Throws a one-sentence error that names the bad file. */
export async function checkBackup({ source, keyFile, migrations, signal }: BackupChecks): Promise<Manifest> {
  const manifest = await readManifest(source);
  const known = await readMigrations(migrations);
  if (!known.some(({ name }) => name === manifest.schema)) {
    throw new Error(
      `${join(source, MANIFEST)} names the database schema ${manifest.schema}, which this version does not know: restore it with gateway ${manifest.gateway_version} or a newer one.`,
    );
  }
  const keys = manifest.files.find(({ table }) => table === 'vault.gateway_key');
  if (keys === undefined)
    throw new Error(`${join(source, MANIFEST)} is damaged: it lists no vault.gateway_key.`);
  // An event store alone stores nothing under a key.
  const masterKey = keys.rows === 0 ? null : await loadMasterKey(keyFile, { mayMake: false });
  for (const file of manifest.files) await refuseDamaged(join(source, file.file), file, signal);
  if (masterKey !== null) await refuseOtherKey(join(source, keys.file), keys.columns, masterKey);
  return manifest;
}

async function refuseDamaged(path: string, expected: StoredFile, signal: AbortSignal): Promise<void> {
  const facts = await stat(path).catch((cause: unknown) => {
    throw new Error(`${path} is missing or cannot be read: the backup is damaged.`, { cause });
  });
  if (facts.size !== expected.bytes) {
    throw new Error(
      `${path} is damaged: it has ${String(facts.size)} bytes, ${String(expected.bytes)} were written.`,
    );
  }
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash, { signal });
  if (hash.digest('hex') !== expected.sha256) {
    throw new Error(`${path} is damaged: its content is not what was written (SHA-256).`);
  }
}

async function refuseOtherKey(path: string, columns: readonly string[], masterKey: KeyObject): Promise<void> {
  const rows = await readCopyFile(path, columns).catch((cause: unknown) => {
    throw new Error(`${path} is damaged: ${String(cause)}`, { cause });
  });
  const opens = ({ name, wrapped }: (typeof rows)[number]): boolean =>
    opensGatewayKey(masterKey, name ?? '', bytesOf(wrapped ?? ''));
  if (rows.length > 0 && rows.every(opens)) return;
  throw new Error(
    `The key file does not open the keys in ${path}: set KEY_FILE to the one that the saved gateway used.`,
  );
}

/** Reads single values from a file in COPY's text format (PostgreSQL documentation, "COPY", "Text Format"). */
const unzip = promisify(gunzip);

const CONTROL: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** The rows of a small file by column name, null for NULL. Throws when it is incomplete. */
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
