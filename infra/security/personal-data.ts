/**
 * The `PersonalData` port. A sealed text is encrypted under its owner's key in `vault.personal_key`, outside the log.
 * Erasing that key erases everything sealed under it, wherever it was copied.
 */
import { createHash, createSecretKey, randomBytes } from 'node:crypto';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { openBox, sealBox } from './sealed-box.ts';
import type { KeyObject } from 'node:crypto';
import type { Clock, PersonalData, Sql } from '../../commands/ports/ports.ts';
import type { Sealed } from '../../commands/values/sealed.ts';

const FORM = /^sealed\.(?:v1|v2)\.([A-Za-z0-9_-]+)(?:\.([A-Za-z0-9_-]{43}))?\.([A-Za-z0-9_-]+)$/;
const OWNER_ID = /^[A-Za-z0-9_-]+$/;
const SALT_BYTES = 16;
const LENGTH_BYTES = 4;
const HEAD_BYTES = SALT_BYTES + LENGTH_BYTES;
const PADDED_TO = 32;

export interface SealedParts {
  readonly ownerId: string;
  /** Null = version 1: no commitment. */
  readonly commitment: string | null;
  readonly box: Buffer;
}

export const isOwnerId = (id: string): boolean => OWNER_ID.test(id);

/** SHA-256(0x02 | salt | text), base64url. */
export const commitmentOf = (salt: Uint8Array, text: Uint8Array): string =>
  createHash('sha256').update(Buffer.of(2)).update(salt).update(text).digest('base64url');

/** Seals under the key of `ownerId`, in the newest version. */
export function sealText(key: KeyObject, ownerId: string, text: string): string {
  const bytes = Buffer.from(text);
  const salt = randomBytes(SALT_BYTES);
  const content = Buffer.alloc(Math.ceil((HEAD_BYTES + bytes.length) / PADDED_TO) * PADDED_TO);
  content.set(salt);
  content.writeUInt32BE(bytes.length, SALT_BYTES);
  content.set(bytes, HEAD_BYTES);
  const box = sealBox(key, content, contextOf(ownerId)).toString('base64url');
  return `sealed.v2.${ownerId}.${commitmentOf(salt, bytes)}.${box}`;
}

/** The parts of a sealed text of any version, or null when the text is not sealed. */
export function readSealed(sealed: string): SealedParts | null {
  const [, ownerId, commitment, box] = FORM.exec(sealed) ?? [];
  if (ownerId === undefined || box === undefined) return null;
  if (sealed.startsWith('sealed.v2.') !== (commitment !== undefined)) return null;
  return { ownerId, commitment: commitment ?? null, box: Buffer.from(box, 'base64url') };
}

/** The text; null when the key differs, the box was altered or does not match its commitment. */
export function openText(key: KeyObject, { ownerId, commitment, box }: SealedParts): string | null {
  const content = openBox(key, box, contextOf(ownerId));
  if (content === null || commitment === null) return content?.toString() ?? null;
  if (content.length < HEAD_BYTES) return null;
  const text = content.subarray(HEAD_BYTES, HEAD_BYTES + content.readUInt32BE(SALT_BYTES));
  return commitmentOf(content.subarray(0, SALT_BYTES), text) === commitment ? text.toString() : null;
}

const contextOf = (ownerId: string): string => `personal ${ownerId}`;

const CACHED_KEYS = 5_000;
/** An erasure by another process takes effect here after this at the latest. */
const CACHED_FOR_MS = 60_000;

interface CachedKey {
  /** Null = erased by this process. */
  readonly key: KeyObject | null;
  readonly until: number;
}

export interface PersonalDataOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly masterKey: KeyObject;
}

/** Seals and opens personal fields; keys are created at an owner's first use and cached for a minute. */
export function createPersonalData({ sql, clock, masterKey }: PersonalDataOptions): PersonalData {
  const cache = new BoundedMap<string, CachedKey>(CACHED_KEYS);

  const cached = async (
    ownerId: string,
    load: () => Promise<KeyObject | null>,
  ): Promise<KeyObject | null> => {
    const now = clock.elapsedMs();
    const hit = cache.get(ownerId);
    if (hit !== undefined && hit.until > now) return hit.key;
    const key = await load();
    // It was erased here while it was being loaded.
    if (cache.get(ownerId)?.key === null) return null;
    // A missing key is not cached: another process may create it at any moment.
    if (key !== null) cache.set(ownerId, { key, until: now + CACHED_FOR_MS });
    return key;
  };

  return {
    seal: async (ownerId, text) => {
      if (!isOwnerId(ownerId)) throw new RangeError(`"${ownerId}" cannot own sealed data.`);
      const key = await cached(ownerId, () => loadOrMake(sql, masterKey, ownerId));
      // Text sealed for an erased owner must stay unreadable: it gets a key that is not stored.
      return sealText(key ?? createSecretKey(randomBytes(32)), ownerId, text) as Sealed;
    },
    open: async (sealed) => {
      const parts = readSealed(sealed);
      if (parts === null) return null;
      const key = await cached(parts.ownerId, () => load(sql, masterKey, parts.ownerId));
      return key === null ? null : openText(key, parts);
    },
    erase: async (ownerId) => {
      if (!isOwnerId(ownerId)) throw new RangeError(`"${ownerId}" cannot own sealed data.`);
      await sql.query(ERASE, [ownerId]);
      cache.set(ownerId, { key: null, until: clock.elapsedMs() + CACHED_FOR_MS });
    },
  };
}

/** The row stays, also for an owner who had no key yet, so that none is ever made for that owner. */
const ERASE = `insert into vault.personal_key as held (owner_id, wrapped, erased_at) values ($1, null, now())
  on conflict (owner_id) do update set wrapped = null, erased_at = coalesce(held.erased_at, excluded.erased_at)`;

const keyContext = (ownerId: string): string => `personal_key ${ownerId}`;

async function load(sql: Sql, masterKey: KeyObject, ownerId: string): Promise<KeyObject | null> {
  const [row] = await sql.query<{ wrapped: Buffer | null }>(
    'select wrapped from vault.personal_key where owner_id = $1',
    [ownerId],
  );
  if (row?.wrapped == null) return null;
  const bytes = openBox(masterKey, row.wrapped, keyContext(ownerId));
  if (bytes === null) throw new Error(`The personal key of ${ownerId} is not sealed under this key file.`);
  return createSecretKey(bytes);
}

async function loadOrMake(sql: Sql, masterKey: KeyObject, ownerId: string): Promise<KeyObject | null> {
  const existing = await load(sql, masterKey, ownerId);
  if (existing !== null) return existing;
  await sql.query(
    'insert into vault.personal_key (owner_id, wrapped) values ($1, $2) on conflict do nothing',
    [ownerId, sealBox(masterKey, randomBytes(32), keyContext(ownerId))],
  );
  // Read back: another process's key may have been first, or the owner is erased.
  return load(sql, masterKey, ownerId);
}

/** Owners whose id has the prefix and who have had a key since before that time. */
export async function listKeyOwners(
  sql: Sql,
  given: {
    readonly prefix: string;
    readonly before: Date;
    readonly except: readonly string[];
    readonly limit: number;
  },
): Promise<readonly string[]> {
  const rows = await sql.query<{ owner_id: string }>(
    `select owner_id from vault.personal_key
      where starts_with(owner_id, $1) and wrapped is not null and created_at < $2 and owner_id <> all($3)
      order by created_at limit $4`,
    [given.prefix, given.before, given.except, given.limit],
  );
  return rows.map(({ owner_id }) => owner_id);
}
