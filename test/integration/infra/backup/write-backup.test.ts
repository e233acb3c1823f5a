import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { expect } from 'chai';
import { bytesOf, readCopyFile } from '../../../../infra/backup/check-backup.ts';
import { fileOf, type Manifest } from '../../../../infra/backup/backup-manifest.ts';
import { writeBackup } from '../../../../infra/backup/write-backup.ts';
import { recordSize } from '../../../../infra/event-store/node/stored-record.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { version } from '../../../../infra/platform/version.ts';
import { eventually } from '../../../support/worlds/gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { runCommand } from '../../../support/servers/run-command.ts';
import { type Home, openHome } from './home-under-test.ts';
import type { Report } from '../../../../infra/backup/table-copy.ts';

const BULK = 20_000;
interface SavedEvent {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
  /** How far it moved the end of the log. */
  readonly size: number;
}

async function eventsIn(target: string, manifest: Manifest): Promise<readonly SavedEvent[]> {
  const stored = manifest.files.find(({ table }) => table === 'log.event');
  const rows = await readCopyFile(join(target, fileOf('log.event')), stored?.columns ?? []);
  const events = rows.map((row) => ({
    position: Number(row['position']),
    stream: row['stream'] ?? '',
    revision: Number(row['revision']),
    size: recordSize({
      id: row['id'] ?? '',
      type: row['type'] ?? '',
      isJson: row['is_json'] === 't',
      data: bytesOf(row['data'] ?? ''),
      metadata: bytesOf(row['metadata'] ?? ''),
    }),
  }));
  return events.sort((a, b) => a.position - b.position);
}

describe('writeBackup', function () {
  this.timeout(120_000);
  let folder: string;
  let home: Home;
  let count = 0;

  /** A target nobody used, alone in its folder. */
  const freshTarget = (): string => {
    count += 1;
    return join(folder, `saved-${String(count)}`, 'backup');
  };
  const besides = (target: string): Promise<string[]> => readdir(join(target, '..'));
  const backUp = (target: string, options: { report?: Report; signal?: AbortSignal } = {}) =>
    writeBackup({
      url: home.url,
      target,
      report: () => undefined,
      signal: new AbortController().signal,
      ...options,
    });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-backup-'));
    home = await openHome(join(folder, 'home'), { bulk: BULK });
  });
  after(async () => {
    await home[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('saves the log of one moment during writes: no gap, no loose end, every acknowledged event', async () => {
    const target = freshTarget();
    const acknowledged: string[] = [];
    const stopping = new AbortController();
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let number = 0; !stopping.signal.aborted; number += 1) {
        const stream = `race-${String(writer)}-${String(number)}`;
        const events = ['Began', 'Ended'].map((type) => jsonEvent({ type, data: { number } }));
        await home.events.appendToStream(stream, events, { expectedRevision: NO_STREAM });
        acknowledged.push(stream);
      }
    });
    await eventually(() => {
      expect(acknowledged.length).to.be.above(200);
      return Promise.resolve();
    });
    const before = [...acknowledged];
    const manifest = await backUp(target);
    const during = acknowledged.length - before.length;
    stopping.abort();
    await Promise.all(writers);

    expect(during, 'acknowledged meanwhile').to.be.above(0);
    const events = await eventsIn(target, manifest);
    expect(events.filter(({ stream }) => stream.startsWith('bulk-'))).to.have.length(BULK);
    const races = events.filter(({ stream }) => stream.startsWith('race-'));
    let expected = races[0]?.position ?? 0;
    for (const { position, size } of races) {
      expect(position).to.equal(expected);
      expected += size;
    }
    expect(String(expected), 'the end of the log').to.equal(manifest.log.end);
    const [end] = await readCopyFile(join(target, fileOf('log.node_epoch')), [
      'only_row',
      'epoch',
      'log_end',
    ]);
    expect(end).to.deep.equal({ only_row: 't', epoch: manifest.log.epoch, log_end: manifest.log.end });
    const whole = new Set(races.filter(({ revision }) => revision === 1).map(({ stream }) => stream));
    expect(races.length, 'each append whole or not at all').to.equal(2 * whole.size);
    expect(before.filter((stream) => !whole.has(stream))).to.deep.equal([]);
    expect(whole.size, 'events after the snapshot').to.be.below(acknowledged.length);
  });

  it('describes the saved files', async () => {
    const reports = new Map<string, number>();
    const manifest = await backUp(freshTarget(), {
      report: ({ table, rows, isDone }) => {
        if (isDone) reports.set(table, rows);
      },
    });
    expect(manifest).to.include({ format: 1, gateway_version: version });
    const [level] = await home.sql.query<{ name: string }>(
      'select name from public.gateway_migration order by name desc limit 1',
    );
    expect(manifest.schema).to.equal(level?.name);
    const tables = await home.sql.query<{ name: string }>(
      "select table_schema || '.' || table_name as name from information_schema.tables where table_schema in ('vault', 'log') order by 1",
    );
    expect(manifest.files.map(({ table }) => table)).to.deep.equal(tables.map(({ name }) => name));
    for (const { table, rows } of manifest.files) {
      const [counted] = await home.sql.query<{ rows: string }>(`select count(*) as rows from ${table}`);
      expect([rows, reports.get(table)], table).to.deep.equal([Number(counted?.rows), rows]);
    }
  });

  it('accepts an empty folder and refuses any other', async () => {
    const target = freshTarget();
    await mkdir(target, { recursive: true, mode: 0o755 });
    await backUp(target);
    expect((await rejection(backUp(target))).message).to.equal(
      `${target} is not empty: name a folder that does not exist yet.`,
    );
    expect(await besides(target)).to.deep.equal(['backup']);
  });

  it('leaves a folder alone when it was filled meanwhile', async () => {
    const target = freshTarget();
    await mkdir(target, { recursive: true });
    let filled: Promise<void> | null = null;
    const report: Report = () => {
      filled ??= writeFile(join(target, 'theirs'), 'x');
    };
    expect((await rejection(backUp(target, { report }))).message).to.match(
      /^The backup cannot be renamed to/,
    );
    expect(await besides(target)).to.deep.equal(['backup']);
    expect(await readdir(target)).to.deep.equal(['theirs']);
  });

  it('leaves nothing behind when it is stopped', async () => {
    const target = freshTarget();
    const stopping = new AbortController();
    const report: Report = ({ rows }) => {
      if (rows > 100) stopping.abort(new Error('Stopped (test).'));
    };
    expect((await rejection(backUp(target, { report, signal: stopping.signal }))).message).to.equal(
      'Stopped (test).',
    );
    expect(await besides(target)).to.deep.equal([]);
    await backUp(target);
  });

  it('leaves nothing behind when the database goes away', async () => {
    const target = freshTarget();
    const admin = await openDirectConnection(home.url, 'test');
    let cut: Promise<unknown> | null = null;
    const report: Report = () => {
      cut ??= admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gateway backup'",
      );
    };
    const error = await rejection(backUp(target, { report }));
    await admin.end();
    expect(error.message).to.match(/^log\.event could not be saved: /);
    expect(await besides(target)).to.deep.equal([]);
  });

  /** The command, at work on the log; the name of the folder it writes to. */
  async function commandAtWork(target: string): Promise<{ child: ChildProcess; unfinished: string }> {
    await mkdir(join(target, '..'));
    const script = join(import.meta.dirname, '../../../../infra/admin/backup.ts');
    const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: home.dataDir };
    const child = spawn(process.execPath, [script, target], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const unfinished = await eventually(async () => {
      const [name = ''] = await besides(target);
      expect(await readdir(join(target, '..', name))).to.include('log.event.copy.gz');
      return name;
    }, 20_000);
    expect(unfinished).to.match(/^backup\.unfinished-/);
    return { child, unfinished };
  }

  it('never looks complete when it was killed', async () => {
    const target = freshTarget();
    const { child, unfinished } = await commandAtWork(target);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await besides(target)).to.deep.equal([unfinished]);
    expect(await readdir(join(target, '..', unfinished))).not.to.include('manifest.json');

    const { code } = await runCommand('infra/admin/backup.ts', [target], { DATA_DIR: home.dataDir });
    expect(code).to.equal(0);
    expect(await readdir(target)).to.include('manifest.json');
  });

  it('is a command that leaves nothing behind when Ctrl-C ends it', async () => {
    const target = freshTarget();
    const { child } = await commandAtWork(target);
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.kill('SIGINT');
    expect(await once(child, 'close')).to.deep.equal([1, null]);
    expect(said).to.equal('Stopped (SIGINT).\n');
    expect(await besides(target)).to.deep.equal([]);
  });

  it('finds all saved data in plain tables and saves nothing else', async () => {
    // A sequence, a partitioned table or a foreign key would need more of the backup than copies of rows.
    const others = await home.sql.query(
      `select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname in ('vault', 'log') and c.relkind not in ('r', 'i')
       union all
       select k.conname from pg_constraint k join pg_namespace n on n.oid = k.connamespace
       where n.nspname in ('vault', 'log') and k.contype = 'f'`,
    );
    expect(others).to.deep.equal([]);
  });
});
