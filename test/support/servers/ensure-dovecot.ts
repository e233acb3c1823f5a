/** Ensures that Dovecot, the real IMAP server of the tests, is on this machine. */
import { findDovecot } from './dovecot-process.ts';
import { ensureProgram } from './debian-program.ts';

let found: Promise<string | null> | null = null;

/**
 * The program, installed under root on a machine with apt. Null, with a line on standard error, where it is
 * unavailable; throws when `CI` is set.
 */
export function ensureDovecot(): Promise<string | null> {
  found ??= ensureProgram({
    title: 'Dovecot, the IMAP server of the tests',
    notice: 'Dovecot is not installed: tests against a real IMAP server are skipped.',
    packages: ['dovecot-imapd', 'dovecot-lmtpd'],
    find: findDovecot,
  });
  return found;
}
