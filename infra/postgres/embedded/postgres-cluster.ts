/** The data folder of the embedded server: made once by initdb, then only verified. */
import { existsSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { handOver, runAs } from './server-account.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import type { ServerAccount } from './server-account.ts';

const run = promisify(execFile);

export const SUPERUSER = 'gateway';

/**
 * The environment of the server's programs: without secrets of the gateway, and without a locale that may not
 * exist.
 */
export const SERVER_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' };

export interface Cluster {
  readonly path: string;
  readonly password: string;
}

/**
 * The cluster in `folder`, created when missing. Throws one sentence when it belongs to another major version
 * or its password file is missing.
 */
export async function ensureCluster(
  folder: string,
  binaries: PostgresBinaries,
  account: ServerAccount | null,
): Promise<Cluster> {
  const path = join(folder, 'cluster');
  const passwordFile = join(folder, 'password');
  if (!existsSync(path)) await makeCluster(path, passwordFile, binaries, account);
  if (account !== null && (await stat(path)).uid !== account.uid) await handOver(path, account);
  const major = (await readFile(join(path, 'PG_VERSION'), 'utf8')).trim();
  if (major !== binaries.major) {
    throw new Error(
      `${path} holds data of Postgres ${major} and this gateway brings ${binaries.major}: save it with the version that wrote it (npm run backup) and restore it with this one.`,
    );
  }
  return { path, password: await readPassword(passwordFile) };
}

async function makeCluster(
  path: string,
  passwordFile: string,
  binaries: PostgresBinaries,
  account: ServerAccount | null,
): Promise<void> {
  // Created under another name and renamed: a start that is killed midway leaves nothing that looks like a
  // cluster.
  const unfinished = `${path}.unfinished`;
  const handedOver = `${passwordFile}.initdb`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  const password = randomBytes(24).toString('hex');
  await writeFile(passwordFile, password, { mode: 0o600 });
  await writeFile(handedOver, password, { mode: 0o600 });
  if (account !== null) {
    await chown(unfinished, account.uid, account.gid);
    await chown(handedOver, account.uid, account.gid);
  }
  try {
    const command = runAs(account, binaries.initdb, [
      `--pgdata=${unfinished}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${handedOver}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ]);
    const options = { cwd: unfinished, env: SERVER_ENVIRONMENT, ...command.identity, timeout: 120_000 };
    await run(command.program, command.args, options);
  } catch (cause) {
    throw new Error(`initdb could not make the database in ${path}: ${firstLine(cause)}`, { cause });
  } finally {
    await rm(handedOver, { force: true });
  }
  await rename(unfinished, path);
}

const firstLine = (error: unknown): string => {
  const stderr =
    error instanceof Error && 'stderr' in error && typeof error.stderr === 'string' ? error.stderr : '';
  return stderr.split('\n').find((line) => line.includes('error')) ?? String(error);
};

async function readPassword(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new Error(`The password of the embedded Postgres cannot be read from ${file}: restore that file.`, {
      cause,
    });
  }
}
