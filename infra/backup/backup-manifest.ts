/** `manifest.json` of a backup: its contents, and the checksum of each file. */
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Incremented when files or manifest change their format. */
export const FORMAT = 1;
export const MANIFEST = 'manifest.json';

// Names become SQL and paths, so nothing else is accepted from a file that anyone may have written.
const columnName = z.string().regex(/^[a-z][a-z0-9_]*$/);
const tableName = z.string().regex(/^(vault|log)\.[a-z][a-z0-9_]*$/);
/** A 64-bit number, which JSON would round. */
const wholeNumber = z.string().regex(/^\d{1,19}$/);

const StoredFile = z
  .strictObject({
    file: z.string(),
    table: tableName,
    columns: z.array(columnName).min(1),
    rows: z.int().min(0),
    /** Of the file, compressed. */
    bytes: z.int().min(0),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
  })
  .refine(({ file, table }) => file === fileOf(table), 'the file is not named after its table');
export type StoredFile = z.output<typeof StoredFile>;

export const Manifest = z.strictObject({
  format: z.literal(FORMAT),
  gateway_version: z.string(),
  created_at: z.iso.datetime(),
  /** The last migration of the saved database. */
  schema: z.string(),
  /** The next position of the log, and the epoch of the node that wrote it. */
  log: z.strictObject({ end: wholeNumber, epoch: wholeNumber }),
  files: z.array(StoredFile).min(1),
});
export type Manifest = z.output<typeof Manifest>;

/** The name of a table's file: rows in COPY's text format, gzipped. */
export const fileOf = (table: string): string => `${table}.copy.gz`;

/** Writes it through to the disk, readable by its owner only. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const handle = await open(join(folder, MANIFEST), 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Throws a one-sentence error when it is missing, damaged or of another format. */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST);
  const json = await parsed(path);
  const { format } = z.looseObject({ format: z.unknown() }).catch({ format: null }).parse(json);
  if (format !== FORMAT && typeof format === 'number') {
    throw new Error(
      `${path} is of format ${String(format)} and this version reads format ${String(FORMAT)}: restore it with the version that wrote it.`,
    );
  }
  const manifest = Manifest.safeParse(json);
  if (manifest.success) return manifest.data;
  const [issue] = manifest.error.issues;
  throw new Error(`${path} is damaged (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}).`);
}

async function parsed(path: string): Promise<unknown> {
  let text;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new Error(`${path} cannot be read: this is not a backup, or an incomplete one.`, { cause });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new Error(`${path} is damaged (no JSON).`, { cause });
  }
}

/** Syncs a folder's own entries to the disk: only then is a new name in it durable. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
