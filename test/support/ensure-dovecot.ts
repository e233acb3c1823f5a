/** Makes sure that Dovecot, the real IMAP server of the tests, is on this machine. */
import { execFile } from 'node:child_process';
import { access, rename, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { findDovecot } from '../../infra/demo/dovecot-process.ts';

const run = promisify(execFile);
const POLICY = '/usr/sbin/policy-rc.d';
const INSTALL_TIMEOUT_MS = 180_000;

let found: Promise<string | null> | null = null;

/**
 * The program, installed when this is root on a machine with apt. Null, with a line on standard error, where it cannot
 * be had; with `CI` set that throws.
 */
export function ensureDovecot(): Promise<string | null> {
  found ??= find();
  return found;
}

async function find(): Promise<string | null> {
  const program = (await findDovecot()) ?? (await install());
  if (program !== null) return program;
  const notice = 'Dovecot is not installed: tests against a real IMAP server are skipped.';
  const ci = process.env['CI'];
  if (ci === '1' || ci === 'true') throw new Error(`${notice} With CI set they must run.`);
  process.stderr.write(`${notice}\n`);
  return null;
}

async function install(): Promise<string | null> {
  const hasApt = await access('/usr/bin/apt-get').then(
    () => true,
    () => false,
  );
  if (process.getuid?.() !== 0 || !hasApt) return null;
  process.stderr.write('Installing Dovecot, the IMAP server of the tests …\n');
  return await withoutServiceStarts(async () => {
    const options = {
      timeout: INSTALL_TIMEOUT_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    };
    const packages = ['install', '-y', '-qq', '--no-install-recommends', 'dovecot-imapd', 'dovecot-lmtpd'];
    try {
      await run('apt-get', packages, options).catch(async () => {
        await run('apt-get', ['update', '-qq'], options);
        await run('apt-get', packages, options);
      });
    } catch (error) {
      process.stderr.write(`apt-get could not install Dovecot: ${String(error)}\n`);
    }
    return await findDovecot();
  });
}

/** Debian starts what it installs unless this script says no (invoke-rc.d: 101 = forbidden); it is put back afterwards. */
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
