/** The gateway's own keys: created once, stored in `vault` under the master key, held in memory while it runs. */
import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  randomBytes,
} from 'node:crypto';
import type { SharedKeys } from './key-file.ts';
import { openBox, sealBox } from './sealed-box.ts';
import type { KeyObject } from 'node:crypto';
import type { Sql } from '../../commands/ports/ports.ts';

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly retired: boolean;
}

export interface Vault {
  readonly masterKey: KeyObject;
  readonly locatorEncryptionKey: KeyObject;
  readonly locatorMacKey: KeyObject;
  readonly idKey: KeyObject;
  /** The active one first, then those that only verify. */
  readonly signingKeys: readonly [SigningKey, ...SigningKey[]];
}

/**
 * Loads the vault's keys and creates the missing ones, from `shared` where given; gateways that start at once end up with
 * the same keys. Throws a one-sentence error when the master key differs from the one they were stored under, or when the
 * vault holds keys other than `shared`.
 */
export async function openVault(
  sql: Sql,
  masterKey: KeyObject,
  shared: SharedKeys | null = null,
): Promise<Vault> {
  const keyOf = (name: keyof SharedKeys): Promise<KeyObject> =>
    gatewayKey(sql, masterKey, { name, given: shared?.[name] ?? null });
  return {
    masterKey,
    locatorEncryptionKey: await keyOf('locator_encryption'),
    locatorMacKey: await keyOf('locator_mac'),
    idKey: await keyOf('id'),
    signingKeys: await signingKeys(sql, masterKey),
  };
}

/** True once a vault was set up here, under any master key; also before the migrations have run. */
export async function vaultExists(sql: Sql): Promise<boolean> {
  const [table] = await sql.query<{ there: boolean }>(
    "select to_regclass('vault.gateway_key') is not null as there",
  );
  if (table?.there !== true) return false;
  const keys = await sql.query('select 1 from vault.gateway_key limit 1');
  return keys.length > 0;
}

/** True when a row of `vault.gateway_key` was stored under this master key. */
export const opensGatewayKey = (masterKey: KeyObject, name: string, wrapped: Uint8Array): boolean =>
  openBox(masterKey, wrapped, gatewayContext(name)) !== null;

function unwrap(masterKey: KeyObject, wrapped: Uint8Array, context: string): Buffer {
  const content = openBox(masterKey, wrapped, context);
  if (content !== null) return content;
  throw new Error(
    'The key file is not the one this database was set up with: restore the right one or set KEY_FILE.',
  );
}

const gatewayContext = (name: string): string => `gateway_key ${name}`;

async function gatewayKey(
  sql: Sql,
  masterKey: KeyObject,
  { name, given }: { readonly name: string; readonly given: Buffer | null },
): Promise<KeyObject> {
  const context = gatewayContext(name);
  const stored = () =>
    sql.query<{ wrapped: Buffer }>('select wrapped from vault.gateway_key where name = $1', [name]);
  let [row] = await stored();
  if (row === undefined) {
    await sql.query('insert into vault.gateway_key (name, wrapped) values ($1, $2) on conflict do nothing', [
      name,
      sealBox(masterKey, given ?? randomBytes(32), context),
    ]);
    // Read back: another gateway's may have been first.
    [row] = await stored();
  }
  if (row === undefined) throw new Error(`The vault does not have the key ${name}.`);
  const key = unwrap(masterKey, row.wrapped, context);
  if (given !== null && !given.equals(key)) {
    throw new Error(
      `SHARED_KEYS_FILE has another key ${name} than this installation was set up with: every existing id would stop working. Remove the setting, or name the file of the first start.`,
    );
  }
  return createSecretKey(key);
}

async function signingKeys(sql: Sql, masterKey: KeyObject): Promise<[SigningKey, ...SigningKey[]]> {
  const stored = () =>
    sql.query<{ kid: string; wrapped: Buffer; retired: boolean }>(
      'select kid, wrapped, retired_at is not null as retired from vault.signing_key order by retired_at desc nulls first',
    );
  let rows = await stored();
  if (rows[0]?.retired !== false) {
    await makeSigningKey(sql, masterKey);
    rows = await stored();
  }
  const keys = rows.map(({ kid, wrapped, retired }) => {
    const der = unwrap(masterKey, wrapped, signingContext(kid));
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    return { kid, privateKey, publicKey: createPublicKey(privateKey), retired };
  });
  const [active, ...others] = keys;
  if (active === undefined) throw new Error('The vault does not have the signing key.');
  return [active, ...others];
}

const signingContext = (kid: string): string => `signing_key ${kid}`;

async function makeSigningKey(sql: Sql, masterKey: KeyObject): Promise<void> {
  const kid = randomBytes(12).toString('base64url');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = privateKey.export({ format: 'der', type: 'pkcs8' });
  // One active key at a time (a unique index), so of two gateways only one stores its key.
  await sql.query('insert into vault.signing_key (kid, wrapped) values ($1, $2) on conflict do nothing', [
    kid,
    sealBox(masterKey, der, signingContext(kid)),
  ]);
}
