import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { jsonEvent, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import { expect } from 'chai';
import { refuseUnfinishedRestore } from '../../../../infra/process/data-folder.ts';
import { readManifest } from '../../../../infra/backup/backup-manifest.ts';
import { MIGRATIONS } from '../../../../infra/postgres/migrate.ts';
import { readPostmasterFile } from '../../../../infra/postgres/embedded/postgres-orphan.ts';
import { lookUpProcess } from '../../../../infra/postgres/embedded/process-facts.ts';
import { eventually } from '../../../support/worlds/gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { runCommand, runNode } from '../../../support/servers/run-command.ts';
import { openHome } from './home-under-test.ts';
import { BULK, rowsIn, save, SavedBackup } from './saved-backup.ts';

describe('restoreBackup', function () {
  this.timeout(120_000);
  let backup: SavedBackup;

  before(async () => {
    backup = await SavedBackup.make();
  });
  after(() => backup[Symbol.asyncDispose]());

  it('restores every row and skips the rebuilt ones', async () => {
    const dataDir = backup.fresh('home');
    expect(await backup.restore(dataDir)).to.deep.equal(backup.manifest);
    const digest = (table: string): string =>
      `select '${table}' as name, count(*)::int as rows, md5(string_agg(t::text, '|' order by t::text)) as md5 from ${table} t`;
    const tables = backup.manifest.files
      .map(({ table }) => table)
      .filter((table) => table !== 'log.node_epoch' && table !== 'vault.audit_watch');
    const all = tables.map(digest).join(' union all ');
    expect(await rowsIn(dataDir, all)).to.deep.equal(await rowsIn(backup.dataDir, all));
    expect(await rowsIn(dataDir, 'select restored from vault.audit_watch')).to.deep.equal([
      { restored: true },
    ]);
    expect(await rowsIn(dataDir, 'select epoch, log_end from log.node_epoch')).to.deep.equal([
      { epoch: String(Number(backup.manifest.log.epoch) + 1), log_end: backup.manifest.log.end },
    ]);
    const empty =
      'select (select count(*) from read.checkpoint)::int as checkpoints, (select count(*) from work.lease)::int as leases';
    expect(await rowsIn(dataDir, empty)).to.deep.equal([{ checkpoints: 0, leases: 0 }]);
    expect(await readdir(dataDir)).to.deep.equal(['postgres']);
  });

  it('restores an event store that continues after its last event', async () => {
    const dataDir = backup.fresh('home');
    await backup.restore(dataDir);
    await using home = await openHome(dataDir, { keyFile: backup.keyFile });
    const { events } = home;
    const read = async (): Promise<readonly bigint[]> => {
      const positions: bigint[] = [];
      for await (const { event } of events.readAll()) if (event) positions.push(event.position.commit);
      return positions;
    };
    const before = await read();
    expect(before).to.have.length(BULK + 1);
    const event = jsonEvent({ type: 'Odd', data: { number: 2 } });
    const append = (expectedRevision: bigint | typeof NO_STREAM) =>
      events.appendToStream('odd-1', [event], { expectedRevision });
    expect(await rejection(append(NO_STREAM))).to.be.instanceOf(WrongExpectedVersionError);
    const { nextExpectedRevision, position } = await append(0n);
    expect(nextExpectedRevision).to.equal(1n);
    expect(String(position?.commit)).to.equal(backup.manifest.log.end);
    expect((await append(0n)).position, 'the same append again').to.deep.equal(position);
    expect(await read()).to.deep.equal([...before, position?.commit]);
  });

  it('refuses a target that is not empty and overwrites nothing', async () => {
    const dataDir = backup.fresh('home');
    await backup.restore(dataDir);
    const before = await rowsIn(dataDir, 'select system_identifier from pg_control_system()');
    expect((await rejection(backup.restore(dataDir))).message).to.match(
      /is not empty \(postgres\): a restore never overwrites/,
    );
    expect(await rowsIn(dataDir, 'select system_identifier from pg_control_system()')).to.deep.equal(before);
    const other = backup.fresh('home');
    await mkdir(other);
    await writeFile(join(other, 'notes.txt'), 'x');
    expect((await rejection(backup.restore(other))).message).to.include('is not empty (notes.txt)');
    expect(await readdir(other)).to.deep.equal(['notes.txt']);
  });

  describe('with a key file', () => {
    it('accepts a key file that is already in the data folder', async () => {
      const dataDir = backup.fresh('home');
      await mkdir(dataDir);
      await cp(backup.keyFile, join(dataDir, 'master.key'));
      await backup.restore(dataDir, { keyFile: join(dataDir, 'master.key') });
      expect(await readdir(dataDir)).to.have.members(['master.key', 'postgres']);
    });

    it('asks for the key file when it is missing', async () => {
      const missing = join(backup.folder, 'nowhere.key');
      expect(await backup.refusal(backup.source, { keyFile: missing })).to.match(
        /^The key file .*nowhere\.key is missing: restore it from your backup or set KEY_FILE/,
      );
    });

    it("refuses another key file than the backup's", async () => {
      const other = join(backup.folder, 'other.key');
      await writeFile(other, Buffer.alloc(32, 1).toString('base64'), { mode: 0o600 });
      expect(await backup.refusal(backup.source, { keyFile: other })).to.equal(
        `The key file does not open the keys in ${join(backup.source, 'vault.gateway_key.copy.gz')}: set KEY_FILE to the one that the saved gateway used.`,
      );
    });

    it('asks for no key file when nothing is encrypted under one', async () => {
      const [store, target, dataDir] = [backup.fresh('store'), backup.fresh('backup'), backup.fresh('home')];
      await using home = await openHome(store, { bulk: 3 });
      await home.sql.query('truncate vault.gateway_key, vault.signing_key');
      await save(home, target);
      await backup.restore(dataDir, { source: target, keyFile: join(backup.folder, 'nowhere.key') });
      expect(await rowsIn(dataDir, 'select count(*)::int as events from log.event')).to.deep.equal([
        { events: 3 },
      ]);
    });

    it('refuses a key file that other accounts can read', async () => {
      const open = join(backup.folder, 'open.key');
      await cp(backup.keyFile, open);
      await chmod(open, 0o640);
      expect(await backup.refusal(backup.source, { keyFile: open })).to.include(
        'can be read by other accounts: run "chmod 600"',
      );
    });
  });

  it('leaves nothing behind when it is stopped', async () => {
    const stopping = new AbortController();
    const report = (): void => {
      stopping.abort(new Error('Stopped (test).'));
    };
    expect(await backup.refusal(backup.source, { report, signal: stopping.signal })).to.equal(
      'Stopped (test).',
    );
  });

  it('removes the remains of a killed restore, its Postgres included', async () => {
    const dataDir = backup.fresh('home');
    const script = `
      const { startEmbeddedPostgres } = await import(process.argv[1]);
      const log = { info() {}, warn() {}, error() {} };
      await startEmbeddedPostgres({ dataDir: process.argv[2], folderName: 'postgres.unfinished', log });
      process.kill(process.pid, 'SIGKILL');`;
    const module = new URL('../../../../infra/postgres/embedded/embedded-postgres.ts', import.meta.url).href;
    const { code } = await runNode(['--input-type=module', '-e', script, module, dataDir]);
    expect(code).to.equal(null);
    expect(await readdir(dataDir)).to.deep.equal(['postgres.unfinished']);
    const orphan = await readPostmasterFile(join(dataDir, 'postgres.unfinished/cluster'));
    expect(await lookUpProcess(orphan?.pid ?? 0)).not.to.equal(null);
    expect(() => {
      refuseUnfinishedRestore(dataDir);
    }).to.throw(/did not end: run it again/);
    await backup.restore(dataDir);
    expect(await lookUpProcess(orphan?.pid ?? 0)).to.equal(null);
    expect(await readdir(dataDir)).to.deep.equal(['postgres']);
    refuseUnfinishedRestore(dataDir);
    expect(await rowsIn(dataDir, 'select count(*)::int as events from log.event')).to.deep.equal([
      { events: BULK + 1 },
    ]);
  });

  it('leaves another restore into the same folder alone', async () => {
    const dataDir = backup.fresh('home');
    const first = backup.restore(dataDir);
    const postgres = join(dataDir, 'postgres.unfinished', 'owner');
    await eventually(() => readFile(postgres));
    expect((await rejection(backup.restore(dataDir))).message).to.equal(
      `Another restore into ${dataDir} is running.`,
    );
    await first;
    expect(await readdir(dataDir)).to.deep.equal(['postgres']);
  });

  it('loads an older backup at its own schema and migrates it', async () => {
    const newer = backup.fresh('migrations');
    await cp(MIGRATIONS, newer, { recursive: true });
    await writeFile(
      join(newer, '9000-new-column.sql'),
      `alter table vault.mail_credentials add column kind text not null default 'password';
       alter table vault.gateway_key add column length int;
       update vault.gateway_key set length = octet_length(wrapped);
       alter table vault.gateway_key alter column length set not null;
       create table vault.added (id int);`,
    );
    const dataDir = backup.fresh('home');
    await backup.restore(dataDir, { migrations: pathToFileURL(`${newer}/`) });
    const lengths = 'select name from vault.gateway_key where length > 32';
    expect(await rowsIn(dataDir, lengths)).to.have.length(backup.entry('vault.gateway_key').rows);
    const level = 'select max(name) as name from public.gateway_migration';
    expect(await rowsIn(dataDir, level)).to.deep.equal([{ name: '9000-new-column.sql' }]);
  });

  it('is a command that prints its purpose, and one sentence per error', async () => {
    const outside = {
      DATA_DIR: backup.fresh('empty'),
      KEY_FILE: backup.keyFile,
      EVENTSTORE_URL: 'esdb://127.0.0.1:2113?tls=false',
    };
    const refused = await runCommand('infra/admin/restore.ts', [backup.source], outside);
    expect(refused).to.deep.equal({
      code: 1,
      stdout: '',
      stderr:
        'EVENTSTORE_URL is set: this command is for the embedded home only; docs/backup.md describes how to back up and restore your own servers.\n',
    });
    const usage = await runCommand('infra/admin/restore.ts', [], {});
    expect(usage.code).to.equal(1);
    expect(usage.stderr).to.include('npm run restore -- DIR');
    expect(await readManifest(backup.source)).to.deep.equal(backup.manifest);
  });
});
