/**
 * How a program is started as the server's account, even where that account may not enter a folder on the
 * path.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ServerAccount } from './server-account.ts';

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
