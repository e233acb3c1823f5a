import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openEmbeddedHome } from '../../../../infra/backup/embedded-home.ts';
import { readManifest } from '../../../../infra/backup/backup-manifest.ts';
import { writeBackup } from '../../../../infra/backup/write-backup.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { startEmbeddedPostgres } from '../../../../infra/postgres/embedded/embedded-postgres.ts';
import { leaveFolder, takeFolder } from '../../../../infra/postgres/embedded/folder-owner.ts';
import { migrate } from '../../../../infra/postgres/migrate.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { runCommand } from '../../../support/servers/run-command.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { openHome } from './home-under-test.ts';

describe('the source of a backup', function () {
  this.timeout(120_000);
  let folder: string;
  let dataDir: string;
  const open = (path = dataDir) => openEmbeddedHome(path, silentLog);
  const ping = async (url: string): Promise<unknown> => {
    const client = await openDirectConnection(url, 'test');
    try {
      return (await client.query<Record<string, unknown>>('select 1 as one')).rows;
    } finally {
      await client.end();
    }
  };

  // One database for the file: initdb is the slow part.
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-backup-'));
    dataDir = join(folder, 'home');
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('must be set up with a log in the embedded event node', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir, log: silentLog });
    const options = { target: join(folder, 'backup'), report: () => undefined };
    const save = () => writeBackup({ url: postgres.url, ...options, signal: new AbortController().signal });
    try {
      expect((await rejection(save())).message).to.match(/^The database was never set up/);
      await migrate({ url: postgres.url });
      expect((await rejection(save())).message).to.match(
        /^No event was ever written to this home: .* \(EVENTSTORE_URL\), docs\/backup\.md/,
      );
    } finally {
      await postgres.stop();
    }
  });

  it('is the running gateway, which keeps running', async () => {
    await using home = await openHome(dataDir);
    const found = await open();
    expect(found.url).to.equal(home.url);
    await found.stop();
    expect(await ping(home.url)).to.deep.equal([{ one: 1 }]);
  });

  it('is started when it does not run, and stopped afterwards', async () => {
    const found = await open();
    expect(await ping(found.url)).to.deep.equal([{ one: 1 }]);
    await found.stop();
    await rejection(ping(found.url));
    const target = join(folder, 'alone');
    const { code } = await runCommand('infra/admin/backup.ts', [target], { DATA_DIR: dataDir });
    expect(code).to.equal(0);
    expect((await readManifest(target)).files).to.have.length.above(2);
    await using home = await openHome(dataDir);
    expect(await ping(home.url), 'the folder was let go').to.deep.equal([{ one: 1 }]);
  });

  it('is never created when it is missing', async () => {
    const empty = join(folder, 'empty');
    await mkdir(empty);
    await writeFile(join(empty, 'master.key'), '');
    expect((await rejection(open(empty))).message).to.equal(
      `${empty} holds no database: set DATA_DIR to the folder of the gateway to save.`,
    );
  });

  it('is refused at once while its Postgres is not up', async () => {
    const owner = join(dataDir, 'postgres', 'owner');
    await takeFolder(owner, dataDir);
    try {
      expect((await rejection(open())).message).to.match(/is starting or stopping: try again\.$/);
    } finally {
      await leaveFolder(owner);
    }
  });

  it('has no part on another host', async () => {
    const servers = {
      DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/db',
      EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    };
    const target = join(folder, 'refused');
    const save = (env: Record<string, string>) =>
      runCommand('infra/admin/backup.ts', [target], { DATA_DIR: dataDir, ...env });
    for (const [name, value] of Object.entries(servers)) {
      const { code, stdout, stderr } = await save({ [name]: value });
      expect([code, stdout]).to.deep.equal([1, '']);
      expect(stderr).to.equal(
        `${name} is set: this command is for the embedded home only; docs/backup.md describes how to back up and restore your own servers.\n`,
      );
    }
    expect((await save(servers)).stderr).to.match(/^DATABASE_URL and EVENTSTORE_URL are set: .*\n$/);
  });
});
