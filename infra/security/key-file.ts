/** Keys in files that only this account can read: the master key, and keys shared by several installations. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { KeyObject } from 'node:crypto';

const KEY_BYTES = 32;

/** Keys that ids are made with. Installations that share them accept each other's ids. */
export interface SharedKeys {
  readonly locator_encryption: Buffer;
  readonly locator_mac: Buffer;
  readonly id: Buffer;
}

/**
 * Reads a JSON file with the members `locator_encryption`, `locator_mac` and `id`, each 32 bytes as base64. Throws a
 * one-sentence error when it is missing, readable by other accounts or malformed.
 */
export async function loadSharedKeys(file: string): Promise<SharedKeys> {
  const text = await readKey(file);
  if (text === null) throw new Error(`SHARED_KEYS_FILE names ${file}, which does not exist.`);
  const parsed = SharedKeysText.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  throw new Error(
    `SHARED_KEYS_FILE names ${file}, which must be JSON with "locator_encryption", "locator_mac" and "id", each 32 bytes as base64.`,
  );
}

const KeyText = z
  .base64()
  .transform((text) => Buffer.from(text, 'base64'))
  .refine(({ length }) => length === KEY_BYTES);
const SharedKeysText = z.strictObject({ locator_encryption: KeyText, locator_mac: KeyText, id: KeyText });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Reads the master key: 32 bytes as base64; its holder can read the vault. `mayMake` creates a missing file, which is only
 * right while nothing is stored under another key. Throws a one-sentence error when the file is missing and may not be
 * created, cannot be read, is readable by other accounts or holds no key.
 */
export async function loadMasterKey(file: string, { mayMake }: { mayMake: boolean }): Promise<KeyObject> {
  const text = (await readKey(file)) ?? (mayMake ? await makeKey(file) : null);
  if (text === null) {
    throw new Error(
      `The key file ${file} is missing: restore it from your backup or set KEY_FILE to its location; a new key cannot open the vault.`,
    );
  }
  const bytes = Buffer.from(text.trim(), 'base64');
  if (bytes.length !== KEY_BYTES || bytes.toString('base64') !== text.trim()) {
    throw new Error(
      `The key file ${file} does not hold 32 bytes as base64: restore it from your backup; a new key cannot open the vault.`,
    );
  }
  return createSecretKey(bytes);
}

/** The file's text, or null when there is no file. */
async function readKey(file: string): Promise<string | null> {
  try {
    const { mode } = await stat(file);
    if ((mode & 0o077) !== 0) {
      throw new Error(`The key file ${file} can be read by other accounts: run "chmod 600" on it.`);
    }
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (!(cause instanceof Error) || !('code' in cause)) throw cause;
    if (cause.code === 'ENOENT') return null;
    throw new Error(`The key file ${file} cannot be read (${String(cause.code)}).`, { cause });
  }
}

async function makeKey(file: string): Promise<string> {
  const text = `${randomBytes(KEY_BYTES).toString('base64')}\n`;
  const draft = `${file}.${String(process.pid)}.new`;
  try {
    await mkdir(dirname(file), { recursive: true });
    const handle = await open(draft, 'w', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    // A link never replaces a file: of two gateways starting at once, the first one's key counts for both.
    await link(draft, file);
    return text;
  } catch (cause) {
    const winner = isTaken(cause) ? await readKey(file) : null;
    if (winner !== null) return winner;
    throw new Error(`The key file ${file} cannot be created: ${String(cause)}`, { cause });
  } finally {
    await rm(draft, { force: true });
  }
}

const isTaken = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST';
