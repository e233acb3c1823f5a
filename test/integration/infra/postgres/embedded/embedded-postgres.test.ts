import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openDirectConnection } from '../../../../../infra/postgres/direct-connection.ts';
import { readPostmasterFile } from '../../../../../infra/postgres/embedded/postgres-orphan.ts';
import { startEmbeddedPostgres } from '../../../../../infra/postgres/embedded/embedded-postgres.ts';
import { serverAccount } from '../../../../../infra/postgres/embedded/server-account.ts';
import { lookUpProcess } from '../../../../../infra/postgres/embedded/process-facts.ts';
import { eventually } from '../../../../support/worlds/gateway.ts';
import { rejection } from '../../../../support/suite/rejection.ts';
import { silentLog } from '../../../../support/fakes/silent-log.ts';

/** A gateway of its own that starts Postgres, prints its address and waits to be killed. */
const STARTER = `
  const { startEmbeddedPostgres } = await import(process.argv[1]);
  const log = { info() {}, warn() {}, error() {} };
  const { url } = await startEmbeddedPostgres({ dataDir: process.argv[2], log });
  process.stdout.write(url);
  setInterval(() => {}, 1000);`;

async function query(url: string, text: string): Promise<unknown[]> {
  const client = await openDirectConnection(url, 'test');
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

const postmasterPid = async (dataDir: string): Promise<number> =>
  Number.parseInt(await readFile(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8'), 10);

describe('embedded Postgres', function () {
  this.timeout(60_000);
  let dataDir: string;
  const start = () => startEmbeddedPostgres({ dataDir, log: silentLog, settings: { fsync: 'off' } });

  // One data folder for the file: initdb is the slow part, and every test leaves the folder startable.
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'gateway-embedded-'));
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  it('keeps data when it restarts, and starts again much sooner than at first', async () => {
    const madeAt = performance.now();
    const first = await start();
    const firstMs = performance.now() - madeAt;
    await query(first.url, "create table kept as select lower('GRÖSSE') as word");
    await first.stop();

    const startedAt = performance.now();
    const second = await start();
    const tookMs = performance.now() - startedAt;
    try {
      expect(await query(second.url, 'select word from kept')).to.deep.equal([{ word: 'grösse' }]);
      expect(tookMs).to.be.below(firstMs / 2);
    } finally {
      await second.stop();
    }
  });

  it('stores the password privately and requires it on loopback only', async () => {
    const postgres = await start();
    try {
      const { mode } = await stat(join(dataDir, 'postgres/password'));
      expect(mode & 0o777).to.equal(0o600);
      expect(new URL(postgres.url).hostname).to.equal('127.0.0.1');
      const wrong = new URL(postgres.url);
      wrong.password = 'wrong';
      expect((await rejection(query(wrong.href, 'select 1'))).cause).to.include({ code: '28P01' });
      const [settings] = await query(
        postgres.url,
        "select current_setting('unix_socket_directories') as sockets, current_setting('listen_addresses') as listens",
      );
      expect(settings).to.deep.equal({ sockets: '', listens: '127.0.0.1' });
    } finally {
      await postgres.stop();
    }
  });

  it('refuses a folder that a running gateway uses, and leaves that gateway alone', async () => {
    const postgres = await start();
    try {
      expect((await rejection(start())).message).to.match(
        /is in use by another running gateway: stop that one/,
      );
      expect(await query(postgres.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    } finally {
      await postgres.stop();
    }
  });

  it('removes the server of a killed gateway', async () => {
    const module = new URL('../../../../../infra/postgres/embedded/embedded-postgres.ts', import.meta.url)
      .href;
    const gateway = spawn(process.execPath, ['--input-type=module', '-e', STARTER, module, dataDir]);
    const [address] = (await once(gateway.stdout, 'data')) as [Buffer];
    await query(address.toString(), 'create table written_before_the_kill as select 1 as one');
    const orphan = await postmasterPid(dataDir);
    gateway.kill('SIGKILL');
    await once(gateway, 'exit');
    expect(await lookUpProcess(orphan)).not.to.equal(null);

    const postgres = await start();
    try {
      expect(await lookUpProcess(orphan)).to.equal(null);
      expect(await query(postgres.url, 'select one from written_before_the_kill')).to.deep.equal([
        { one: 1 },
      ]);
    } finally {
      await postgres.stop();
    }
  });

  it('sends no signal to another program with the pid of a dead server', async () => {
    const bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const file = join(dataDir, 'postgres/cluster/postmaster.pid');
    await writeFile(
      file,
      `${String(bystander.pid)}\n${dataDir}/postgres/cluster\n1700000000\n5432\n\n\n\nready\n`,
    );
    try {
      const postgres = await start();
      await postgres.stop();
      expect(bystander.exitCode).to.equal(null);
      expect(bystander.signalCode).to.equal(null);
    } finally {
      bystander.kill('SIGKILL');
    }
  });

  it('starts while the killed server is a zombie', async () => {
    await (await start()).stop();
    // Its parent becomes a program that asks after no child. Postgres looks only at processes of its own account.
    const { uid, gid } = (await serverAccount()) ?? {};
    const identity = uid === undefined ? {} : { uid, gid };
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], { cwd: '/', ...identity });
    const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
    const zombie = Number(pid.toString());
    try {
      await eventually(async () => {
        expect(await lookUpProcess(zombie)).to.equal(null);
      });
      expect(process.kill(zombie, 0)).to.equal(true);
      await writeFile(
        join(dataDir, 'postgres/cluster/postmaster.pid'),
        `${String(zombie)}\n${dataDir}/postgres/cluster\n1700000000\n5432\n\n127.0.0.1\n  1 1\nready\n`,
      );
      const postgres = await start();
      expect(await query(postgres.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
      await postgres.stop();
      expect(process.kill(zombie, 0)).to.equal(true);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  it('reports in one sentence why it did not start', async () => {
    const failing = startEmbeddedPostgres({ dataDir, log: silentLog, settings: { max_connections: 'many' } });
    expect((await rejection(failing)).message).to.match(
      /^The embedded Postgres did not start: .*max_connections.*server\.log\)$/,
    );
    await (await start()).stop();
  });

  it('starts again on the same port with the committed data when the server is killed', async () => {
    const postgres = await start();
    await query(postgres.url, 'create table survives as select 1 as one');
    const { pid } = (await readPostmasterFile(join(dataDir, 'postgres/cluster'))) ?? { pid: 0 };
    process.kill(pid, 'SIGKILL');
    const rows = await eventually(() => query(postgres.url, 'select one from survives'));
    expect(rows).to.deep.equal([{ one: 1 }]);
    await postgres.stop();
    await rejection(query(postgres.url, 'select 1'));
  });

  it('returns to its port when it restarts, and reports when another program has it', async () => {
    const first = await start();
    await first.stop();
    const port = Number(new URL(first.url).port);
    const second = await start();
    await second.stop();
    expect(second.url).to.equal(first.url);

    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    try {
      expect((await rejection(start())).message).to.match(
        new RegExp(
          `^Port ${String(port)}, .*taken by another program: end that one, or remove .*postgres/port `,
        ),
      );
    } finally {
      other.close();
    }
    await (await start()).stop();
  });

  // Only root runs the server as another account.
  const asRoot = process.getuid?.() === 0 ? it : () => undefined;
  asRoot("works in a folder that the server's account may not enter by itself", async () => {
    const closed = join(dataDir, 'closed');
    await mkdir(closed);
    await chmod(closed, 0o700);
    const postgres = await startEmbeddedPostgres({ dataDir: join(closed, 'data'), log: silentLog });
    const client = await openDirectConnection(postgres.url, 'test');
    expect((await client.query('select 1 as one')).rows).to.deep.equal([{ one: 1 }]);
    await client.end();
    await postgres.stop();
  });
});
