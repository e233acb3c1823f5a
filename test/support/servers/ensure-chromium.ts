/** Ensures that Chromium, the real browser of the tests, is on this machine. */
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { ensureProgram } from './debian-program.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

let found: Promise<string | null> | null = null;

/** As `ensureDovecot`. */
export function ensureChromium(): Promise<string | null> {
  found ??= ensureProgram({
    title: 'Chromium, the browser of the tests',
    notice: 'Chromium is not installed: tests in a real browser are skipped.',
    packages: ['chromium'],
    find: findChromium,
  });
  return found;
}

async function findChromium(): Promise<string | null> {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  for (const file of NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))) {
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return null;
}
