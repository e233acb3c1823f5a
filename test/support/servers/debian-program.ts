/** Real programs the tests need: found on this machine, or installed under root on a machine with apt. */
import { execFile } from 'node:child_process';
import { access, rename, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const POLICY = '/usr/sbin/policy-rc.d';
const INSTALL_TIMEOUT_MS = 180_000;

export interface DebianProgram {
  /** The program and its purpose, for example `Dovecot, the IMAP server of the tests`. */
  readonly title: string;
  /** Printed where it is unavailable. */
  readonly notice: string;
  readonly packages: readonly string[];
  /** Resolves with its path or name, null without one. */
  readonly find: () => Promise<string | null>;
}

/** The program. Null, with a line on standard error, where it is unavailable; throws when `CI` is set. */
export async function ensureProgram(program: DebianProgram): Promise<string | null> {
  const found = (await program.find()) ?? (await install(program));
  if (found !== null) return found;
  const ci = process.env['CI'];
  if (ci === '1' || ci === 'true') throw new Error(`${program.notice} With CI set they must run.`);
  process.stderr.write(`${program.notice}\n`);
  return null;
}

async function install({ title, packages, find }: DebianProgram): Promise<string | null> {
  const hasApt = await access('/usr/bin/apt-get').then(
    () => true,
    () => false,
  );
  if (process.getuid?.() !== 0 || !hasApt) return null;
  process.stderr.write(`Installing ${title} …\n`);
  return await withoutServiceStarts(async () => {
    const options = {
      timeout: INSTALL_TIMEOUT_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    };
    const wanted = ['install', '-y', '-qq', '--no-install-recommends', ...packages];
    try {
      await run('apt-get', wanted, options).catch(async () => {
        await run('apt-get', ['update', '-qq'], options);
        await run('apt-get', wanted, options);
      });
    } catch (error) {
      process.stderr.write(`apt-get could not install ${title}: ${String(error)}\n`);
    }
    return await find();
  });
}

/**
 * Debian starts installed services unless this script forbids it (invoke-rc.d: 101 = forbidden); restored
 * afterwards.
 */
async function withoutServiceStarts<T>(work: () => Promise<T>): Promise<T> {
  const aside = `${POLICY}.before-tests`;
  const had = await rename(POLICY, aside).then(
    () => true,
    () => false,
  );
  await writeFile(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    return await work();
  } finally {
    await rm(POLICY, { force: true });
    if (had) await rename(aside, POLICY);
  }
}
