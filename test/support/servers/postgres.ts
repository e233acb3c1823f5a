/**
 * Databases for tests: one embedded Postgres per test process, started at the first call, and a fresh copy of
 * a migrated database per caller. A run of many processes creates the server's folder once and copies it.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../../../infra/postgres/embedded/embedded-postgres.ts';
import { openDirectConnection } from '../../../infra/postgres/direct-connection.ts';
import { ownerIsAlive } from '../../../infra/postgres/embedded/folder-owner.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { stopOrphan } from '../../../infra/postgres/embedded/postgres-orphan.ts';
import { silentLog } from '../fakes/silent-log.ts';
import type { EmbeddedPostgres } from '../../../infra/postgres/embedded/embedded-postgres.ts';

const run = promisify(execFile);
const FOLDER_PREFIX = 'gateway-test-postgres-';
const TEMPLATE = 'gateway_template';
/** Names the folder to copy. */
const MADE_FOLDER = 'TEST_POSTGRES_FOLDER';

/** Data lost in a crash of the machine does not matter here. */
const THROWAWAY = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '200',
};

export interface TestDatabase {
  readonly url: string;
  /** Closes its connections and removes it. */
  drop(): Promise<void>;
}

interface TestServer {
  readonly folder: string;
  readonly postgres: EmbeddedPostgres;
}

let server: Promise<TestServer> | null = null;

/** A separate database with every migration applied, or with none. */
export async function testDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  server ??= startServer();
  const { postgres } = await server;
  const name = `test_${randomBytes(6).toString('hex')}`;
  const template = options.migrated === false ? 'template1' : TEMPLATE;
  await administer(postgres, `create database ${name} template ${template}`);
  return {
    url: databaseUrl(postgres, name),
    drop: () => administer(postgres, `drop database if exists ${name} with (force)`),
  };
}

/** Ends this process's server and removes its folder; the next `testDatabase` starts another. */
async function stopTestPostgres(): Promise<void> {
  const running = server;
  server = null;
  if (running === null) return;
  const { folder, postgres } = await running;
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

/** For mocha's `--require`. Without it the server ends with the process and the next run removes its folder. */
export const mochaHooks = { afterAll: stopTestPostgres };

/** Creates in `folder` the data that later test processes copy, instead of creating it each. */
export async function makePostgresFolder(folder: string): Promise<void> {
  const postgres = await makeServer(folder);
  await postgres.stop();
  // Each process chooses its own port.
  await rm(join(folder, 'postgres/port'));
  process.env[MADE_FOLDER] = folder;
}

async function startServer(): Promise<TestServer> {
  await removeAbandoned();
  const folder = await mkdtemp(join(tmpdir(), FOLDER_PREFIX));
  const made = process.env[MADE_FOLDER];
  if (made === undefined) return { folder, postgres: await makeServer(folder) };
  await run('cp', ['-a', join(made, 'postgres'), folder]);
  return { folder, postgres: await launch(folder) };
}

const launch = (dataDir: string): Promise<EmbeddedPostgres> =>
  startEmbeddedPostgres({ dataDir, log: silentLog, settings: THROWAWAY });

async function makeServer(folder: string): Promise<EmbeddedPostgres> {
  const postgres = await launch(folder);
  await administer(postgres, `create database ${TEMPLATE}`);
  await migrate({ url: databaseUrl(postgres, TEMPLATE) });
  return postgres;
}

/** Killed runs leave a server and a folder. Recent ones may belong to a run that is just starting. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const madeAt = await stat(folder).then(
      (facts) => facts.mtimeMs,
      () => Infinity,
    );
    if (Date.now() - madeAt < 60_000 || (await ownerIsAlive(join(folder, 'postgres/owner')))) continue;
    await stopOrphan(join(folder, 'postgres/cluster'), silentLog);
    await rm(folder, { recursive: true, force: true });
  }
}

function databaseUrl(postgres: EmbeddedPostgres, database: string): string {
  const url = new URL(postgres.url);
  url.pathname = `/${database}`;
  return url.href;
}

async function administer(postgres: EmbeddedPostgres, statement: string): Promise<void> {
  const client = await openDirectConnection(postgres.url, 'gateway tests');
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
