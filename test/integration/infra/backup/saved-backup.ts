/** A small backup to restore, whole or spoilt. */
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jsonEvent } from '@eventstore/db-client';
import { expect } from 'chai';
import type { Manifest, StoredFile } from '../../../../infra/backup/backup-manifest.ts';
import { restoreBackup, type RestoreOptions } from '../../../../infra/backup/restore-backup.ts';
import { writeBackup } from '../../../../infra/backup/write-backup.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { startEmbeddedPostgres } from '../../../../infra/postgres/embedded/embedded-postgres.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { type Home, openHome } from './home-under-test.ts';

/** Events of the saved log beside an odd one at its end. */
export const BULK = 500;

export class SavedBackup implements AsyncDisposable {
  readonly folder: string;
  /** The backup, its manifest, and the home it was made of. */
  readonly source: string;
  readonly manifest: Manifest;
  readonly dataDir: string;
  readonly keyFile: string;
  #count = 0;

  private constructor(folder: string, manifest: Manifest) {
    this.folder = folder;
    this.manifest = manifest;
    this.source = join(folder, 'backup');
    this.dataDir = join(folder, 'home');
    this.keyFile = join(folder, 'master.key');
  }

  static async make(): Promise<SavedBackup> {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-restore-'));
    const keyFile = join(folder, 'master.key');
    await using home = await openHome(join(folder, 'home'), { keyFile, bulk: BULK });
    const odd = jsonEvent({ type: 'Odd', data: { text: 'tab\t, new\nline, \\ and "' } });
    await home.events.appendToStream('odd-1', [odd]);
    await home.sql.query(
      `insert into vault.personal_key (owner_id, wrapped, erased_at)
       values (E'usr_tab\\tand\\nline', '\\x00ff0a09', null), ('usr_erased', null, now())`,
    );
    return new SavedBackup(folder, await save(home, join(folder, 'backup')));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A path that nobody used. */
  fresh(name: string): string {
    this.#count += 1;
    return join(this.folder, `${name}-${String(this.#count)}`);
  }

  entry(table: string): StoredFile {
    const stored = this.manifest.files.find((file) => file.table === table);
    if (!stored) throw new Error(`${table} is not in the backup`);
    return stored;
  }

  restore(dataDir: string, options: Partial<RestoreOptions> = {}): Promise<Manifest> {
    return restoreBackup({
      source: this.source,
      dataDir,
      keyFile: this.keyFile,
      log: silentLog,
      report: () => undefined,
      signal: new AbortController().signal,
      ...options,
    });
  }

  /** The sentence of a restore that must leave its folder empty. */
  async refusal(source: string, options: Partial<RestoreOptions> = {}): Promise<string> {
    const dataDir = this.fresh('empty');
    await mkdir(dataDir);
    const { message } = await rejection(this.restore(dataDir, { source, ...options }));
    expect(await readdir(dataDir), message).to.deep.equal([]);
    expect(message.split('\n')).to.have.length(1);
    return message;
  }

  /** A copy of the backup that may be spoilt. */
  async copy(): Promise<string> {
    const spoilt = this.fresh('spoilt');
    await cp(this.source, spoilt, { recursive: true });
    return spoilt;
  }

  /** Gives a table other content, as somebody would who also keeps the manifest in step. */
  async forge(backup: string, table: string, content: Buffer, rows?: number): Promise<void> {
    await writeFile(join(backup, this.entry(table).file), content);
    const facts = { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
    const files = this.manifest.files.map((file) =>
      file.table === table ? { ...file, ...facts, rows: rows ?? file.rows } : file,
    );
    await writeManifest(backup, { ...this.manifest, files });
  }
}

export const save = ({ url }: Home, target: string): Promise<Manifest> =>
  writeBackup({ url, target, report: () => undefined, signal: new AbortController().signal });

export const writeManifest = (backup: string, manifest: object): Promise<void> =>
  writeFile(join(backup, 'manifest.json'), JSON.stringify(manifest));

/** What a query finds in a home that nobody has open. */
export async function rowsIn(dataDir: string, text: string): Promise<unknown[]> {
  const postgres = await startEmbeddedPostgres({ dataDir, log: silentLog });
  const client = await openDirectConnection(postgres.url, 'test');
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
    await postgres.stop();
  }
}
