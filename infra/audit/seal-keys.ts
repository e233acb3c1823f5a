/** The keys that sign checkpoints: one per trail, made at its first checkpoint, kept in `vault` under the key file's key. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { noteOf, rawPublicKey, type Signed, type VerifierKey } from '../../commands/audit/signed-note.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { openBox, sealBox } from '../security/sealed-box.ts';
import { SealOvertaken } from './seal-memory.ts';

export interface SealKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

/** A trail that was signed before has no key: only an operator can say why. */
export class SealKeyMissing extends Error {
  constructor(trail: string) {
    super(
      `The key that signed the trail ${trail} is missing: nothing is signed until an operator begins a new epoch.`,
    );
    this.name = 'SealKeyMissing';
  }
}

const contextOf = (trail: string, publicKey: Uint8Array): string =>
  `audit_key ${trail} ${Buffer.from(publicKey).toString('hex')}`;

interface KeyRow extends Record<string, unknown> {
  readonly public_key: Buffer;
  readonly wrapped: Buffer;
  readonly told: boolean;
}

/**
 * The keys that sign now: the active one, and those that were retired less than 30 days ago. `wasSigned`: a key must be there.
 * Throws `SealKeyMissing`, `SealOvertaken` while the log has yet to tell of the only key, or one sentence when a key does not
 * open under this key file.
 */
export async function sealKeys(
  sql: Sql,
  masterKey: KeyObject,
  { trail, wasSigned }: { readonly trail: string; readonly wasSigned: boolean },
): Promise<readonly SealKey[]> {
  const stored = (): Promise<readonly KeyRow[]> =>
    sql.query<KeyRow>(
      `select public_key, wrapped, told from vault.audit_key
        where trail = $1 and revoked_at is null and coalesce(retired_at > now() - interval '30 days', true)
        order by retired_at desc nulls first`,
      [trail],
    );
  let rows = await stored();
  if (rows.length === 0) {
    if (wasSigned) throw new SealKeyMissing(trail);
    await addKey(sql, masterKey, trail);
    rows = await stored();
  }
  const told = rows.filter((row) => row.told);
  if (told.length === 0) throw new SealOvertaken();
  return told.map(({ public_key: publicKey, wrapped }) => {
    const der = openBox(masterKey, wrapped, contextOf(trail, publicKey));
    if (der === null)
      throw new Error(`The signing key of the trail ${trail} is not sealed under this key file.`);
    return { publicKey, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) };
  });
}

/** Makes the active key of a trail. Another process's may have been first; then that one stays. */
async function addKey(sql: Sql, masterKey: KeyObject, trail: string): Promise<void> {
  const { publicKey, wrapped } = newKey(masterKey, trail);
  await sql.query(
    'insert into vault.audit_key (trail, public_key, wrapped) values ($1, $2, $3) on conflict do nothing',
    [trail, publicKey, wrapped],
  );
}

/** A key for the trail, and the private one sealed under the key file's key. */
export function newKey(masterKey: KeyObject, trail: string): SealKey & { readonly wrapped: Uint8Array } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const publicKey = rawPublicKey(createPublicKey(privateKey));
  const der = privateKey.export({ format: 'der', type: 'pkcs8' });
  return { publicKey, privateKey, wrapped: sealBox(masterKey, der, contextOf(trail, publicKey)) };
}

/** Every public key that ever signed the trail, for checking notes. */
export async function publicKeysOf(sql: Sql, trail: string): Promise<readonly Uint8Array[]> {
  const rows = await sql.query<{ public_key: Buffer }>(
    'select public_key from vault.audit_key where trail = $1',
    [trail],
  );
  return rows.map(({ public_key: key }) => key);
}

/** The note of a text, signed by each key under one name. */
export function signNote(text: string, name: string, keys: readonly SealKey[]): string {
  const signatures = keys.map(({ publicKey, privateKey }): Signed => {
    const key: VerifierKey = { name, publicKey };
    return { ...key, signature: sign(null, Buffer.from(text), privateKey) };
  });
  return noteOf(text, signatures);
}
