/** The Postgres bundled with the gateway, used when no DATABASE_URL is set. */
import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { portTaken, readPort, writePort } from '../../platform/reserved-port.ts';
import { leaveFolder, takeFolder } from './folder-owner.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { ensureCluster, SUPERUSER } from './postgres-cluster.ts';
import { stopOrphan } from './postgres-orphan.ts';
import { keepRunning } from './keep-postgres-running.ts';
import { launchPostgres, PortInUse, type PostgresProcess } from './postgres-process.ts';
import { firstUnreachable, serverAccount, withPassage } from './server-account.ts';
import type { Log } from '../../../commands/ports/ports.ts';
import type { ServerAccount } from './server-account.ts';

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** The folder below `dataDir`. A restore uses another name until it is complete. */
  readonly folderName?: string;
  readonly log: Log;
  /** Server settings that add to or replace the built-in ones, as `postgres -c` accepts them. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A start that is under way when it aborts is given up, and its reason thrown. */
  readonly ending?: AbortSignal;
}

export interface EmbeddedPostgres {
  /** The URL of a superuser with its password, for this process only. */
  readonly url: string;
  /** Closes every connection and ends the server permanently. May be called more than once. */
  stop(): Promise<void>;
}

/**
 * Starts Postgres on `<dataDir>/postgres`. The first start creates the database. A server left by a killed
 * gateway is stopped. The port stays the same, so that processes beside this one find the server again.
 * Throws one sentence on failure.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { folder, account } = await prepareFolder(options, await serverAccount());
  const ownerFile = join(folder, 'owner');
  await takeFolder(ownerFile, folder);
  try {
    await stopOrphan(join(folder, 'cluster'), options.log);
    const binaries = await postgresBinaries(folder, account);
    const cluster = await ensureCluster(folder, binaries, account);
    const portFile = join(folder, 'port');
    const kept = (await readPort(portFile)) ?? undefined;
    const launch = (port = kept, signal = options.ending): Promise<PostgresProcess> =>
      launchPostgres({
        program: binaries.postgres,
        cluster: cluster.path,
        logFile: join(folder, 'server.log'),
        account,
        settings: options.settings ?? {},
        ...(port === undefined ? {} : { port }),
        ...(signal && { signal }),
      });
    const server = await keepRunning(launch, options.log).catch((error: unknown) => {
      if (kept === undefined || !(error instanceof PortInUse)) throw error;
      throw portTaken('the embedded Postgres', kept, portFile);
    });
    if (kept === undefined) await writePort(portFile, server.port);
    return {
      url: `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${String(server.port)}/postgres`,
      stop: async () => {
        await server.stop();
        await leaveFolder(ownerFile);
      },
    };
  } catch (error) {
    await leaveFolder(ownerFile);
    throw error;
  }
}

async function prepareFolder(
  { dataDir, folderName = 'postgres' }: EmbeddedPostgresOptions,
  account: ServerAccount | null,
): Promise<Prepared> {
  await mkdir(dataDir, { recursive: true });
  const home = await realpath(dataDir);
  const folder = join(home, folderName);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (account === null) return { folder, account };
  // The server's account may pass through these two folders but not list them. Private files in them have
  // mode 600.
  for (const own of [home, folder]) await chmod(own, ((await stat(own)).mode & 0o777) | 0o011);
  const closed = await firstUnreachable(folder, account);
  if (closed === null) return { folder, account };
  const passing = await withPassage(account, folder);
  if (passing !== null) return { folder, account: passing };
  throw new Error(
    `Run by root, Postgres works as "nobody", who may not enter ${closed}: set DATA_DIR to a folder that is open to others (such as /var/lib/mailbox-gateway), open that one with "chmod o+x", or do not run as root.`,
  );
}

interface Prepared {
  readonly folder: string;
  /** The account the server runs as; null = that of this process. */
  readonly account: ServerAccount | null;
}
