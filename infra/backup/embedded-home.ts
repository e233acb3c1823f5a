/** The embedded database of a data folder: that of a running gateway, or opened temporarily. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded/embedded-postgres.ts';
import { ownerIsAlive } from '../postgres/embedded/folder-owner.ts';
import { SUPERUSER } from '../postgres/embedded/postgres-cluster.ts';
import { readPostmasterFile } from '../postgres/embedded/postgres-orphan.ts';
import type { Log } from '../../commands/ports/ports.ts';
import type { Config } from '../process/config.ts';

/** Throws a one-sentence error when part of the home is an external server, which has its own backup tools. */
export function refuseOutsideHome({ database, eventStoreUrl }: Config): void {
  const outside = [
    ...(database ? ['DATABASE_URL'] : []),
    ...(eventStoreUrl === null ? [] : ['EVENTSTORE_URL']),
  ];
  if (outside.length === 0) return;
  throw new Error(
    `${outside.join(' and ')} ${outside.length > 1 ? 'are' : 'is'} set: this command is for the embedded home only; docs/backup.md describes how to back up and restore your own servers.`,
  );
}

/**
 * The address of the database in `dataDir`; `stop` ends only what was started for it. Throws a one-sentence error when
 * there is none.
 */
export async function openEmbeddedHome(dataDir: string, log: Log): Promise<EmbeddedPostgres> {
  const folder = join(dataDir, 'postgres');
  if (!existsSync(join(folder, 'cluster'))) {
    throw new Error(`${dataDir} holds no database: set DATA_DIR to the folder of the gateway to save.`);
  }
  if (!(await ownerIsAlive(join(folder, 'owner')))) return await startEmbeddedPostgres({ dataDir, log });
  // Read from the folder and not from run.json, which names the running gateway's database, wherever that is.
  const server = await readPostmasterFile(join(folder, 'cluster'));
  if (server?.ready !== true) {
    throw new Error(`The Postgres in ${folder} is starting or stopping: try again.`);
  }
  const password = (await readFile(join(folder, 'password'), 'utf8')).trim();
  return {
    url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${String(server.port)}/postgres`,
    stop: () => Promise.resolve(),
  };
}
