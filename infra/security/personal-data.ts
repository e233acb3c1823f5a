/**
 * The `PersonalData` port. A sealed text is encrypted under its owner's key in `vault.personal_key`, outside the log.
 * Erasing that key erases everything sealed under it, wherever it was copied.
 */
import { createHash, createSecretKey, KeyObject, randomBytes } from 'node:crypto';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { openBox, sealBox } from './sealed-box.ts';
import type { Clock, PersonalData, ProvenText, SealedReader, Sql } from '../../commands/ports/ports.ts';
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

/** The text and its salt; null when the key differs, the box was altered or does not match its commitment. */
export function openText(key: KeyObject, { ownerId, commitment, box }: SealedParts): ProvenText | null {
  const content = openBox(key, box, contextOf(ownerId));
  if (content === null) return null;
  if (commitment === null) return { text: content.toString(), salt: null };
  if (content.length < HEAD_BYTES) return null;
  const salt = content.subarray(0, SALT_BYTES);
  const text = content.subarray(HEAD_BYTES, HEAD_BYTES + content.readUInt32BE(SALT_BYTES));
  return commitmentOf(salt, text) === commitment ? { text: text.toString(), salt } : null;
}

const contextOf = (ownerId: string): string => `personal ${ownerId}`;

const CACHED_KEYS = 5_000;
/** An erasure by another process takes effect here after this at the latest. */
const CACHED_FOR_MS = 60_000;

/** The key of an owner; null = the owner has none. */
type OwnerKey = KeyObject | 'erased' | null;

interface CachedKey {
  readonly key: KeyObject | 'erased';
  readonly until: number;
}

export interface PersonalDataOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly masterKey: KeyObject;
}

/** Keys of owners, kept for a while. */
class KeptKeys {
  readonly #cache = new BoundedMap<string, CachedKey>(CACHED_KEYS);
  readonly #clock: Clock;
  readonly #keptMs: number;

  constructor(clock: Clock, keptMs: number) {
    this.#clock = clock;
    this.#keptMs = keptMs;
  }

  async get(ownerId: string, load: () => Promise<OwnerKey>): Promise<OwnerKey> {
    const now = this.#clock.elapsedMs();
    const hit = this.#cache.get(ownerId);
    if (hit !== undefined && hit.until > now) return hit.key;
    const key = await load();
    // It was erased here while it was being loaded.
    if (this.#cache.get(ownerId)?.key === 'erased') return 'erased';
    // A missing key is not cached: another process may create it at any moment.
    if (key !== null) this.#cache.set(ownerId, { key, until: now + this.#keptMs });
    return key;
  }

  noteErased(ownerId: string): void {
    this.#cache.set(ownerId, { key: 'erased', until: this.#clock.elapsedMs() + this.#keptMs });
  }
}

/** Seals and opens personal fields; keys are created at an owner's first use and cached for a minute. */
export function createPersonalData({ sql, clock, masterKey }: PersonalDataOptions): PersonalData {
  const kept = new KeptKeys(clock, CACHED_FOR_MS);
  const readerWith = (keys: KeptKeys): SealedReader => {
    const prove = async (sealed: Sealed): Promise<ProvenText | 'erased' | null> => {
      const parts = readSealed(sealed);
      if (parts === null) return null;
      const key = await keys.get(parts.ownerId, () => load(sql, masterKey, parts.ownerId));
      return key instanceof KeyObject ? openText(key, parts) : key;
    };
    return {
      open: async (sealed) => {
        const proven = await prove(sealed);
        return proven === 'erased' ? null : (proven?.text ?? null);
      },
      ownerOf: (text) => readSealed(text)?.ownerId ?? null,
      prove,
    };
  };

  return {
    ...readerWith(kept),
    afresh: () => readerWith(new KeptKeys(clock, Infinity)),
    seal: async (ownerId, text) => {
      if (!isOwnerId(ownerId)) throw new RangeError(`"${ownerId}" cannot own sealed data.`);
      const key = await kept.get(ownerId, () => loadOrMake(sql, masterKey, ownerId));
      // Text sealed for an erased owner must stay unreadable: it gets a key that is not stored.
      const under = key instanceof KeyObject ? key : createSecretKey(randomBytes(32));
      return sealText(under, ownerId, text) as Sealed;
    },
    erase: async (ownerId) => {
      if (!isOwnerId(ownerId)) throw new RangeError(`"${ownerId}" cannot own sealed data.`);
      await sql.query(ERASE, [ownerId]);
      kept.noteErased(ownerId);
    },
    isErased: async (ownerId) => (await load(sql, masterKey, ownerId)) === 'erased',
  };
}

/** The row stays, also for an owner who had no key yet, so that none is ever made for that owner. */
const ERASE = `insert into vault.personal_key as held (owner_id, wrapped, erased_at) values ($1, null, now())
  on conflict (owner_id) do update set wrapped = null, erased_at = coalesce(held.erased_at, excluded.erased_at)`;

const keyContext = (ownerId: string): string => `personal_key ${ownerId}`;

async function load(sql: Sql, masterKey: KeyObject, ownerId: string): Promise<OwnerKey> {
  const [row] = await sql.query<{ wrapped: Buffer | null; is_erased: boolean }>(
    'select wrapped, erased_at is not null as is_erased from vault.personal_key where owner_id = $1',
    [ownerId],
  );
  if (row?.wrapped == null) return row?.is_erased === true ? 'erased' : null;
  const bytes = openBox(masterKey, row.wrapped, keyContext(ownerId));
  if (bytes === null) throw new Error(`The personal key of ${ownerId} is not sealed under this key file.`);
  return createSecretKey(bytes);
}

async function loadOrMake(sql: Sql, masterKey: KeyObject, ownerId: string): Promise<OwnerKey> {
  const existing = await load(sql, masterKey, ownerId);
  if (existing !== null) return existing;
  await sql.query(
    'insert into vault.personal_key (owner_id, wrapped) values ($1, $2) on conflict do nothing',
    [ownerId, sealBox(masterKey, randomBytes(32), keyContext(ownerId))],
  );
  // Read back: another process's key may have been first, or the owner is erased.
  return load(sql, masterKey, ownerId);
}

/** Owners whose id has the prefix and whose key was erased. */
export async function listErasedOwners(sql: Sql, prefix: string): Promise<readonly string[]> {
  const rows = await sql.query<{ owner_id: string }>(
    'select owner_id from vault.personal_key where starts_with(owner_id, $1) and erased_at is not null',
    [prefix],
  );
  return rows.map(({ owner_id }) => owner_id);
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
