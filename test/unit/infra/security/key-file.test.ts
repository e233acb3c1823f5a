import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadMasterKey, loadSharedKeys } from '../../../../infra/security/key-file.ts';
import { rejection } from '../../../support/suite/rejection.ts';

describe('key file', () => {
  let folder: string;
  let file: string;
  const load = async (mayMake = true) => (await loadMasterKey(file, { mayMake })).export();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-key-'));
    file = join(folder, 'below', 'master.key');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is created at the first start, readable by its owner only, and read at the next', async () => {
    const key = await load();
    expect(key).to.have.length(32);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(await load()).to.deep.equal(key);
    expect(await readdir(join(folder, 'below')), 'nothing else is left').to.deep.equal(['master.key']);
  });

  it('accepts a key that an operator created', async () => {
    file = join(folder, 'operator.key');
    const bytes = Buffer.alloc(32, 7);
    await writeFile(file, bytes.toString('base64'), { mode: 0o400 });
    expect(await load()).to.deep.equal(bytes);
  });

  it('is required, not created, when data is encrypted with it', async () => {
    expect((await rejection(load(false))).message).to.equal(
      `The key file ${file} is missing: restore it from your backup or set KEY_FILE to its location; a new key cannot open the vault.`,
    );
    expect(await readdir(folder), 'nothing was made').to.deep.equal([]);
    const key = await load();
    expect(await load(false)).to.deep.equal(key);
  });

  it('is refused when other accounts may read it', async () => {
    await load();
    await chmod(file, 0o640);
    expect((await rejection(load())).message).to.equal(
      `The key file ${file} can be read by other accounts: run "chmod 600" on it.`,
    );
  });

  it('is refused and kept when it holds no key', async () => {
    file = join(folder, 'bad.key');
    for (const text of [
      '',
      'short',
      Buffer.alloc(31).toString('base64'),
      `${Buffer.alloc(32).toString('base64')}x`,
    ]) {
      await writeFile(file, text, { mode: 0o600 });
      expect((await rejection(load())).message).to.match(/does not hold 32 bytes as base64: restore it/);
      expect(await readFile(file, 'utf8')).to.equal(text);
    }
  });

  it('is refused when it cannot be read or created', async () => {
    file = folder;
    await chmod(folder, 0o700);
    expect((await rejection(load())).message).to.equal(`The key file ${file} cannot be read (EISDIR).`);
    await writeFile(join(folder, 'a-file'), '');
    file = join(folder, 'a-file', 'master.key');
    expect((await rejection(load())).message).to.match(/cannot be (made|read)/);
  });
});

describe('file of shared keys', () => {
  let folder: string;
  let file: string;
  const key = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
  const whole = { locator_encryption: key(1), locator_mac: key(2), id: key(3) };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-keys-'));
    file = join(folder, 'shared.json');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('contains three keys', async () => {
    await writeFile(file, JSON.stringify(whole), { mode: 0o600 });
    const { locator_encryption, locator_mac, id } = await loadSharedKeys(file);
    expect([locator_encryption[0], locator_mac[0], id[0]]).to.deep.equal([1, 2, 3]);
  });

  it('is refused when it is missing, malformed or readable by other accounts', async () => {
    expect((await rejection(loadSharedKeys(file))).message).to.include('does not exist');
    for (const text of [
      '',
      '{',
      '[]',
      JSON.stringify({ ...whole, id: 'AA==' }),
      JSON.stringify({ id: key(3) }),
    ]) {
      await writeFile(file, text, { mode: 0o600 });
      expect((await rejection(loadSharedKeys(file))).message).to.include('must be JSON with');
    }
    await writeFile(file, JSON.stringify(whole));
    await chmod(file, 0o644);
    expect((await rejection(loadSharedKeys(file))).message).to.include('can be read by other accounts');
  });
});
