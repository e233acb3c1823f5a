import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SealFile } from '../../../../infra/audit/seal-file.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { ORG, SealRig } from './seal-rig.ts';

const TABLES = ['audit_watch', 'audit_tree', 'audit_signed'];

describe('the file beside the database', () => {
  let world: SealRig;
  let folder: string;
  let warnings: string[];

  beforeEach(async () => {
    world = await SealRig.open();
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-seal-'));
    warnings = [];
    const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
    world.file = new SealFile(folder, log);
    await world.happens(3);
    await world.seal();
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const path = (): string => join(folder, 'audit-seal.json');
  const stored = async (): Promise<{ installation: string; version: number }> =>
    JSON.parse(await readFile(path(), 'utf8')) as { installation: string; version: number };
  const version = async (): Promise<number> => {
    const [row] = await world.rig.sql.query<{ version: string }>('select version from vault.audit_watch');
    return Number(row?.version);
  };
  const grows = async (): Promise<void> => {
    await world.happens(1);
    await world.seal();
  };
  const epochs = async (): Promise<readonly string[]> =>
    (await world.told()).filter((told) => told.startsWith('AuditEpochStarted'));

  it('has the version of the last signing, and nothing else is left in the folder', async () => {
    expect((await stored()).version).to.equal(await version());
    await grows();
    expect((await stored()).version).to.equal(await version());
    expect(await readdir(folder)).to.deep.equal(['audit-seal.json']);
    expect([await epochs(), warnings]).to.deep.equal([[], []]);
  });

  it('shows that an older database was put back: one new epoch begins without a command', async () => {
    const { sql } = world.rig;
    for (const table of TABLES)
      await sql.query(`create table public.${table} as select * from vault.${table}`);
    await grows();
    await grows();
    for (const table of TABLES) {
      await sql.query(`truncate vault.${table}`);
      await sql.query(`insert into vault.${table} select * from public.${table}`);
    }
    await grows();
    expect(await epochs()).to.deep.equal(['AuditEpochStarted restore']);
    expect((await world.told()).at(-1)).to.equal('AuditCheckpointSealed');
    const [origin = ''] = (await world.notes()).at(-1)?.split('\n') ?? [];
    expect(origin).to.match(new RegExp(`^gateway.example/audit/${ORG}/[0-9]{10}$`));
    await grows();
    expect(await epochs()).to.have.length(1);
    expect((await stored()).version).to.equal(await version());
  });

  it('is behind where another process signed, or one died before it was written', async () => {
    const before = await readFile(path());
    await grows();
    await writeFile(path(), before);
    await grows();
    expect(await epochs()).to.deep.equal([]);
  });

  it('asks for no second epoch after an operator began one', async () => {
    await writeFile(path(), JSON.stringify({ ...(await stored()), version: 1_000 }));
    await world.sealer().newEpoch('An older database was put back.');
    await grows();
    expect(await epochs()).to.deep.equal(['AuditEpochStarted operator']);
  });

  for (const [what, text] of [
    ['of another installation', JSON.stringify({ installation: 'another', version: 1_000 })],
    ['damaged', '{"installation":'],
  ] as const) {
    it(`is replaced with a warning when it is ${what}`, async () => {
      await writeFile(path(), text);
      await grows();
      expect(await epochs()).to.deep.equal([]);
      expect(warnings).to.not.deep.equal([]);
      expect((await stored()).version).to.equal(await version());
    });
  }

  it('stops nothing when it cannot be written', async () => {
    await rm(folder, { recursive: true });
    await grows();
    expect(await world.sizes()).to.have.length(2);
    expect(warnings.at(-1)).to.match(/cannot be written$/);
  });
});
