import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { jsonEvent, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import { expect } from 'chai';
import { type Manifest, readManifest, type StoredFile } from '../../../../infra/backup/manifest.ts';
import { restoreBackup, type RestoreOptions } from '../../../../infra/backup/restore-backup.ts';
import { writeBackup } from '../../../../infra/backup/write-backup.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { startEmbeddedPostgres } from '../../../../infra/postgres/embedded-postgres.ts';
import { MIGRATIONS } from '../../../../infra/postgres/migrate.ts';
import { eventually } from '../../../support/gateway.ts';
import { rejection } from '../../../support/rejection.ts';
import { runCommand, runNode } from '../../../support/run-command.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { openHome } from './home-under-test.ts';

const BULK = 500;

describe('restoreBackup', function () {
  this.timeout(60_000);
  let folder: string;
  let source: string;
  let keyFile: string;
  let saved: Manifest;
  let count = 0;

  const fresh = (name: string): string => {
    count += 1;
    return join(folder, `${name}-${String(count)}`);
  };
  const restore = (dataDir: string, options: Partial<RestoreOptions> = {}): Promise<Manifest> =>
    restoreBackup({
      source,
      dataDir,
      keyFile,
      log: silentLog,
      report: () => undefined,
      signal: new AbortController().signal,
      ...options,
    });
  /** A copy of the backup that may be spoilt. */
  const copy = async (): Promise<string> => {
    const spoilt = fresh('spoilt');
    await cp(source, spoilt, { recursive: true });
    return spoilt;
  };
  const writeManifest = (backup: string, manifest: object): Promise<void> =>
    writeFile(join(backup, 'manifest.json'), JSON.stringify(manifest));
  const entry = (table: string): StoredFile => {
    const stored = saved.files.find((file) => file.table === table);
    if (!stored) throw new Error(`${table} is not in the backup`);
    return stored;
  };
  /** Gives a table other content, as somebody would who also keeps the manifest in step. */
  const forge = async (backup: string, table: string, content: Buffer, rows?: number): Promise<void> => {
    await writeFile(join(backup, entry(table).file), content);
    const facts = { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
    const files = saved.files.map((file) =>
      file.table === table ? { ...file, ...facts, rows: rows ?? file.rows } : file,
    );
    await writeManifest(backup, { ...saved, files });
  };
  /** The sentence of a restore that must leave its folder empty. */
  const refusal = async (backup: string, options: Partial<RestoreOptions> = {}): Promise<string> => {
    const dataDir = fresh('empty');
    await mkdir(dataDir);
    const { message } = await rejection(restore(dataDir, { source: backup, ...options }));
    expect(await readdir(dataDir), message).to.deep.equal([]);
    expect(message.split('\n')).to.have.length(1);
    return message;
  };
  const rows = async (dataDir: string, text: string): Promise<unknown[]> => {
    const postgres = await startEmbeddedPostgres({ dataDir, log: silentLog });
    const client = await openDirectConnection(postgres.url, 'test');
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
      await postgres.stop();
    }
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-restore-'));
    source = join(folder, 'backup');
    keyFile = join(folder, 'master.key');
    await using home = await openHome(join(folder, 'home'), { keyFile, bulk: BULK });
    await home.events.appendToStream('odd-1', [
      jsonEvent({ type: 'Odd', data: { text: 'tab\t, new\nline, \\ and "' } }),
    ]);
    await home.sql.query(
      `insert into vault.personal_key (owner_id, wrapped, erased_at)
       values (E'usr_tab\\tand\\nline', '\\x00ff0a09', null), ('usr_erased', null, now())`,
    );
    const { signal } = new AbortController();
    saved = await writeBackup({ url: home.url, target: source, report: () => undefined, signal });
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('brings back every row as it was, and leaves alone what is built again', async () => {
    const dataDir = fresh('home');
    expect(await restore(dataDir)).to.deep.equal(saved);
    const digest = (table: string): string =>
      `select '${table}' as name, count(*)::int as rows, md5(string_agg(t::text, '|' order by t::text)) as md5 from ${table} t`;
    const tables = saved.files.map(({ table }) => table).filter((table) => table !== 'log.node_epoch');
    const all = tables.map(digest).join(' union all ');
    expect(await rows(dataDir, all)).to.deep.equal(await rows(join(folder, 'home'), all));
    expect(await rows(dataDir, 'select epoch, log_end from log.node_epoch')).to.deep.equal([
      { epoch: String(Number(saved.log.epoch) + 1), log_end: saved.log.end },
    ]);
    const empty =
      'select (select count(*) from read.checkpoint)::int as checkpoints, (select count(*) from work.lease)::int as leases';
    expect(await rows(dataDir, empty)).to.deep.equal([{ checkpoints: 0, leases: 0 }]);
    expect(await readdir(dataDir)).to.deep.equal(['postgres']);
  });

  it('gives an event store that goes on where the saved one was', async () => {
    const dataDir = fresh('home');
    await restore(dataDir);
    await using home = await openHome(dataDir, { keyFile });
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
    expect(String(position?.commit)).to.equal(saved.log.end);
    expect((await append(0n)).position, 'the same append again').to.deep.equal(position);
    expect(await read()).to.deep.equal([...before, position?.commit]);
  });

  it('is refused where something is, and by nothing overwritten', async () => {
    const dataDir = fresh('home');
    await restore(dataDir);
    const before = await rows(dataDir, 'select system_identifier from pg_control_system()');
    expect((await rejection(restore(dataDir))).message).to.match(
      /is not empty \(postgres\): a restore never overwrites/,
    );
    expect(await rows(dataDir, 'select system_identifier from pg_control_system()')).to.deep.equal(before);
    const other = fresh('home');
    await mkdir(other);
    await writeFile(join(other, 'notes.txt'), 'x');
    expect((await rejection(restore(other))).message).to.include('is not empty (notes.txt)');
    expect(await readdir(other)).to.deep.equal(['notes.txt']);
  });

  describe('and the key file', () => {
    it('may wait in the data folder', async () => {
      const dataDir = fresh('home');
      await mkdir(dataDir);
      await cp(keyFile, join(dataDir, 'master.key'));
      await restore(dataDir, { keyFile: join(dataDir, 'master.key') });
      expect(await readdir(dataDir)).to.have.members(['master.key', 'postgres']);
    });

    it('is asked for when it is missing', async () => {
      const missing = join(folder, 'nowhere.key');
      expect(await refusal(source, { keyFile: missing })).to.match(
        /^The key file .*nowhere\.key is missing: put back your copy of it or set KEY_FILE/,
      );
    });

    it('must be the one the backup was made under', async () => {
      const other = join(folder, 'other.key');
      await writeFile(other, Buffer.alloc(32, 1).toString('base64'), { mode: 0o600 });
      expect(await refusal(source, { keyFile: other })).to.equal(
        `The key file does not open the keys in ${join(source, 'vault.gateway_key.copy.gz')}: set KEY_FILE to the one that the saved gateway used.`,
      );
    });

    it('must not be open to other accounts', async () => {
      const open = join(folder, 'open.key');
      await cp(keyFile, open);
      await chmod(open, 0o640);
      expect(await refusal(source, { keyFile: open })).to.include(
        'is open to other accounts: run "chmod 600"',
      );
    });
  });

  describe('refuses a damaged backup before anything is written', () => {
    it('without a manifest', async () => {
      const backup = await copy();
      await rm(join(backup, 'manifest.json'));
      expect(await refusal(backup)).to.match(
        /manifest\.json cannot be read: this is no backup, or one that never ended/,
      );
    });

    it('with a manifest that is cut off', async () => {
      const backup = await copy();
      await truncate(join(backup, 'manifest.json'), 200);
      expect(await refusal(backup)).to.match(/manifest\.json is damaged \(no JSON\)/);
    });

    it('with a manifest that lacks a part or names other files', async () => {
      const backup = await copy();
      await writeManifest(backup, { ...saved, log: undefined });
      expect(await refusal(backup)).to.match(/manifest\.json is damaged \(log: /);
      const outside = { ...entry('vault.password'), file: '../vault.password.copy.gz' };
      await writeManifest(backup, { ...saved, files: [outside] });
      expect(await refusal(backup)).to.match(
        /manifest\.json is damaged \(files\.0: the file is not named after/,
      );
      const injected = { ...entry('vault.password'), columns: ['user_id", (select 1)'] };
      await writeManifest(backup, { ...saved, files: [injected] });
      expect(await refusal(backup)).to.match(/manifest\.json is damaged \(files\.0\.columns\.0: /);
      await writeManifest(backup, { ...saved, files: [entry('log.event')] });
      expect(await refusal(backup)).to.match(/manifest\.json is damaged: it lists no vault\.gateway_key/);
    });

    it('of a format this version does not know', async () => {
      const backup = await copy();
      await writeManifest(backup, { format: 2, everything: 'else' });
      expect(await refusal(backup)).to.match(/manifest\.json is of format 2 and this version reads format 1/);
    });

    it('of a schema this version does not know', async () => {
      const backup = await copy();
      await writeManifest(backup, { ...saved, schema: '9999-future.sql', gateway_version: '7.8.9' });
      expect(await refusal(backup)).to.match(
        /manifest\.json tells of the database schema 9999-future\.sql, which this version does not know: restore it with gateway 7\.8\.9/,
      );
    });

    it('with a file missing', async () => {
      const backup = await copy();
      await rm(join(backup, 'vault.password.copy.gz'));
      expect(await refusal(backup)).to.match(/vault\.password\.copy\.gz is missing or cannot be read/);
    });

    it('with a file cut off', async () => {
      const backup = await copy();
      await truncate(join(backup, 'log.event.copy.gz'), entry('log.event').bytes - 1);
      expect(await refusal(backup)).to.match(
        /log\.event\.copy\.gz is damaged: it has \d+ bytes, \d+ were written/,
      );
    });

    it('with one bit turned', async () => {
      const backup = await copy();
      const path = join(backup, 'log.event.copy.gz');
      const content = await readFile(path);
      content[1000] = (content[1000] ?? 0) ^ 1;
      await writeFile(path, content);
      expect(await refusal(backup)).to.match(
        /log\.event\.copy\.gz is damaged: its content is not what was written/,
      );
    });
  });

  describe('leaves nothing half restored when the damage shows while loading', () => {
    const plain = async (table: string): Promise<string> =>
      gunzipSync(await readFile(join(source, entry(table).file))).toString();

    it('as compression that ends too early', async () => {
      const backup = await copy();
      const content = await readFile(join(source, 'log.event.copy.gz'));
      await forge(backup, 'log.event', content.subarray(0, content.length - 100));
      expect(await refusal(backup)).to.match(
        /log\.event\.copy\.gz is damaged: it cannot be loaded \(unexpected end of file\)/,
      );
    });

    it('as a row that is none', async () => {
      const backup = await copy();
      await forge(backup, 'log.event', gzipSync(`${await plain('log.event')}nonsense\n`));
      expect(await refusal(backup)).to.match(
        /log\.event\.copy\.gz is damaged: it cannot be loaded \(.*nonsense/,
      );
    });

    it('as an event that is there twice', async () => {
      const backup = await copy();
      const text = await plain('log.event');
      await forge(backup, 'log.event', gzipSync(text + text.slice(0, text.indexOf('\n') + 1)), BULK + 2);
      expect(await refusal(backup)).to.match(
        /log\.event\.copy\.gz is damaged: it cannot be loaded \(duplicate key/,
      );
    });

    it('as fewer rows than were written', async () => {
      const backup = await copy();
      const text = await plain('log.event');
      await forge(backup, 'log.event', gzipSync(text.slice(text.indexOf('\n') + 1)));
      expect(await refusal(backup)).to.match(
        /log\.event\.copy\.gz is damaged: it gave 500 rows, 501 were written/,
      );
    });

    it('as a table that is not listed, or listed twice', async () => {
      const backup = await copy();
      const files = saved.files.filter(({ table }) => table !== 'log.event');
      await writeManifest(backup, { ...saved, files });
      expect(await refusal(backup)).to.match(
        /manifest\.json is damaged: its files are not the tables .*log\.event/,
      );
      await writeManifest(backup, { ...saved, files: [...saved.files, entry('vault.password')] });
      expect(await refusal(backup)).to.match(/manifest\.json is damaged: its files are not the tables/);
    });

    it('as a log that ends elsewhere', async () => {
      const backup = await copy();
      await writeManifest(backup, { ...saved, log: { ...saved.log, end: '1000' } });
      expect(await refusal(backup)).to.match(/manifest\.json is damaged: it and the log do not agree/);
    });
  });

  it('is stopped without a trace', async () => {
    const stopping = new AbortController();
    const report = (): void => {
      stopping.abort(new Error('Stopped (test).'));
    };
    expect(await refusal(source, { report, signal: stopping.signal })).to.equal('Stopped (test).');
  });

  it('clears away what a killed restore left, its Postgres included', async () => {
    const dataDir = fresh('home');
    const script = `
      const { startEmbeddedPostgres } = await import(process.argv[1]);
      const log = { info() {}, warn() {}, error() {} };
      await startEmbeddedPostgres({ dataDir: process.argv[2], folderName: 'postgres.unfinished', log });
      process.kill(process.pid, 'SIGKILL');`;
    const module = new URL('../../../../infra/postgres/embedded-postgres.ts', import.meta.url).href;
    const { code } = await runNode(['--input-type=module', '-e', script, module, dataDir]);
    expect(code).to.equal(null);
    expect(await readdir(dataDir)).to.deep.equal(['postgres.unfinished']);
    await restore(dataDir);
    expect(await readdir(dataDir)).to.deep.equal(['postgres']);
    expect(await rows(dataDir, 'select count(*)::int as events from log.event')).to.deep.equal([
      { events: BULK + 1 },
    ]);
  });

  it('leaves another restore into the same folder to end', async () => {
    const dataDir = fresh('home');
    const first = restore(dataDir);
    const postgres = join(dataDir, 'postgres.unfinished', 'owner');
    await eventually(() => readFile(postgres));
    expect((await rejection(restore(dataDir))).message).to.equal(
      `Another restore into ${dataDir} is under way.`,
    );
    await first;
    expect(await readdir(dataDir)).to.deep.equal(['postgres']);
  });

  it('loads an older backup at its own schema, and brings it along', async () => {
    const newer = fresh('migrations');
    await cp(MIGRATIONS, newer, { recursive: true });
    await writeFile(
      join(newer, '9000-new-column.sql'),
      `alter table vault.mail_credentials add column kind text not null default 'password';
       alter table vault.gateway_key add column length int;
       update vault.gateway_key set length = octet_length(wrapped);
       alter table vault.gateway_key alter column length set not null;
       create table vault.added (id int);`,
    );
    const dataDir = fresh('home');
    await restore(dataDir, { migrations: pathToFileURL(`${newer}/`) });
    const lengths = 'select name from vault.gateway_key where length > 32';
    expect(await rows(dataDir, lengths)).to.have.length(entry('vault.gateway_key').rows);
    const level = 'select max(name) as name from public.gateway_migration';
    expect(await rows(dataDir, level)).to.deep.equal([{ name: '9000-new-column.sql' }]);
  });

  it('is a command that says what is wrong in one sentence, and what it is for', async () => {
    const outside = {
      DATA_DIR: fresh('empty'),
      KEY_FILE: keyFile,
      EVENTSTORE_URL: 'esdb://127.0.0.1:2113?tls=false',
    };
    const refused = await runCommand('infra/admin/restore.ts', [source], outside);
    expect(refused).to.deep.equal({
      code: 1,
      stdout: '',
      stderr:
        'EVENTSTORE_URL is set: this command is for the embedded home only; docs/backup.md says how servers of your own are saved and restored.\n',
    });
    const usage = await runCommand('infra/admin/restore.ts', [], {});
    expect(usage.code).to.equal(1);
    expect(usage.stderr).to.include('npm run restore -- DIR');
    expect(await readManifest(source)).to.deep.equal(saved);
  });
});
