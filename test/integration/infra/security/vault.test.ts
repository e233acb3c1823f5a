import { expect } from 'chai';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { openVault, opensGatewayKey, vaultExists } from '../../../../infra/security/vault.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import type { Vault } from '../../../../infra/security/vault.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';

const fingerprint = (vault: Vault): string[] => [
  ...[vault.idKey, vault.locatorEncryptionKey, vault.locatorMacKey].map((key) =>
    key.export().toString('hex'),
  ),
  ...vault.signingKeys.map(({ kid, retired }) => `${kid} ${String(retired)}`),
];

describe('openVault', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;

  beforeEach(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  it('returns the same keys to gateways that start at once, and to later ones', async () => {
    const masterKey = randomKey();
    const vaults = await Promise.all(Array.from({ length: 5 }, () => openVault(sql, masterKey)));
    vaults.push(await openVault(sql, masterKey));
    const prints = new Set(vaults.map((vault) => fingerprint(vault).join()));
    expect(prints.size).to.equal(1);
    expect(new Set(fingerprint(await openVault(sql, masterKey))).size, 'all keys differ').to.equal(4);
  });

  it(`accepts given keys for ids, and refuses others later ${verifies('contract:1:shared-keys')}`, async () => {
    const masterKey = randomKey();
    const [locator_encryption, locator_mac, id, other] = [1, 2, 3, 4].map((byte) => Buffer.alloc(32, byte)) as [
      Buffer, Buffer, Buffer, Buffer,
    ]; // prettier-ignore
    const shared = { locator_encryption, locator_mac, id };
    const vault = await openVault(sql, masterKey, shared);
    const made = [vault.locatorEncryptionKey, vault.locatorMacKey, vault.idKey].map((key) => key.export());
    expect(made).to.deep.equal([locator_encryption, locator_mac, id]);
    // Without the file the installation keeps them: it holds them in its vault.
    expect(fingerprint(await openVault(sql, masterKey))).to.deep.equal(fingerprint(vault));
    const changed = await rejection(openVault(sql, masterKey, { ...shared, locator_mac: other }));
    expect(String(changed)).to.include('SHARED_KEYS_FILE').and.include('locator_mac');
  });

  it('stores no key in the clear', async () => {
    const vault = await openVault(sql, randomKey());
    const rows = await sql.query<{ wrapped: Buffer }>(
      'select wrapped from vault.gateway_key union all select wrapped from vault.signing_key',
    );
    const stored = Buffer.concat(rows.map((row) => row.wrapped));
    expect(stored.includes(vault.idKey.export())).to.equal(false);
    expect(stored.includes(vault.locatorMacKey.export())).to.equal(false);
    const signing = vault.signingKeys[0].privateKey.export({ format: 'jwk' });
    expect(stored.includes(Buffer.from(String(signing.d), 'base64url'))).to.equal(false);
  });

  it('keeps a retired signing key for verification behind the active one', async () => {
    const masterKey = randomKey();
    const before = await openVault(sql, masterKey);
    await sql.query('update vault.signing_key set retired_at = now()');
    const { signingKeys } = await openVault(sql, masterKey);
    expect(signingKeys.map(({ retired }) => retired)).to.deep.equal([false, true]);
    expect(signingKeys[1]?.kid).to.equal(before.signingKeys[0].kid);
  });

  it('reports another key file in one sentence', async () => {
    await openVault(sql, randomKey());
    expect((await rejection(openVault(sql, randomKey()))).message).to.match(
      /^The key file is not the one this database was set up with/,
    );
  });

  it('reports whether a vault was set up, also when no table exists', async () => {
    expect(await vaultExists(sql)).to.equal(false);
    await openVault(sql, randomKey());
    expect(await vaultExists(sql)).to.equal(true);
    await sql.query('drop schema vault cascade');
    expect(await vaultExists(sql)).to.equal(false);
  });

  it('verifies a master key against a stored key', async () => {
    const masterKey = randomKey();
    await openVault(sql, masterKey);
    const rows = await sql.query<{ name: string; wrapped: Buffer }>(
      'select name, wrapped from vault.gateway_key',
    );
    expect(rows).to.have.length(3);
    for (const { name, wrapped } of rows) {
      expect(opensGatewayKey(masterKey, name, wrapped)).to.equal(true);
      expect(opensGatewayKey(randomKey(), name, wrapped)).to.equal(false);
    }
  });
});
