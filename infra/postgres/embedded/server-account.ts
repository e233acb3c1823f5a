/**
 * Postgres refuses to run as root, so root runs it as `nobody` and gives it the folder it needs, even where
 * that account may not enter a folder on the path.
 */
import { lchown, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
  /**
   * A Linux capability for the start of the program, to pass folders on the path that are closed to the
   * account.
   */
  readonly passage?: string;
}

/** The account that Postgres must run as; null = that of this process. */
export async function serverAccount(): Promise<ServerAccount | null> {
  if (process.getuid?.() !== 0) return null;
  const passwd = await readFile('/etc/passwd', 'utf8');
  const nobody = /^nobody:[^:]*:(\d+):(\d+):/m.exec(passwd);
  // initdb resolves its own uid, so an account without an entry does not work.
  if (nobody === null) {
    throw new Error(
      'Postgres does not run as root and /etc/passwd has no "nobody": run as another user or set DATABASE_URL.',
    );
  }
  return { uid: Number(nobody[1]), gid: Number(nobody[2]) };
}

/**
 * The first part of `path`, from the root down, that `account` may not enter or execute; null when there is
 * none.
 */
export async function firstUnreachable(path: string, account: ServerAccount): Promise<string | null> {
  const parts = [path];
  for (let parent = dirname(path); parent !== parts[0]; parent = dirname(parent)) parts.unshift(parent);
  for (const part of parts) {
    const facts = await stat(part);
    const shift = facts.uid === account.uid ? 6 : facts.gid === account.gid ? 3 : 0;
    if (((facts.mode >> shift) & 1) === 0) return part;
  }
  return null;
}

/** Gives `path` and everything below it to `account`. */
export async function handOver(path: string, account: ServerAccount): Promise<void> {
  await lchown(path, account.uid, account.gid);
  const entries = await readdir(path, { recursive: true });
  for (const entry of entries) await lchown(join(path, entry), account.uid, account.gid);
}

const run = promisify(execFile);

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Spawn options that change the account; empty when the command changes it. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
}

/** The command that runs `program` as `account` (null = as this process). */
export function runAs(account: ServerAccount | null, program: string, args: readonly string[]): Command {
  if (account === null) return { program, args, identity: {} };
  const { uid, gid, passage } = account;
  if (passage === undefined) return { program, args, identity: { uid, gid } };
  return { program: 'setpriv', args: [...privileges(account, passage), program, ...args], identity: {} };
}

const privileges = ({ uid, gid }: ServerAccount, passage: string): readonly string[] => [
  `--reuid=${String(uid)}`,
  `--regid=${String(gid)}`,
  '--clear-groups',
  `--inh-caps=-all,+${passage}`,
  `--ambient-caps=-all,+${passage}`,
  '--',
];

/** Least privilege first: to enter folders is enough, but some containers only know the wider one. */
const PASSAGES = ['dac_read_search', 'dac_override'] as const;

/**
 * The account with the one capability it needs to reach `folder` below a private one (a clone in root's
 * home), granted by `setpriv` of util-linux; null where that is impossible.
 */
export async function withPassage(account: ServerAccount, folder: string): Promise<ServerAccount | null> {
  for (const passage of PASSAGES) {
    try {
      await run('setpriv', [...privileges(account, passage), 'ls', folder], { timeout: 5_000 });
      return { ...account, passage };
    } catch {
      // No setpriv, or this process may not give the capability: the next one is tried.
    }
  }
  return null;
}
