/** Postgres refuses to run as root, so root runs it as `nobody` and gives it the folder it needs. */
import { lchown, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

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
