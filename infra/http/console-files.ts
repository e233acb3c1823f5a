/** The files of the approver's page, as they are sent: read once, under an address that changes with their content. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

export interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
}

export interface ConsoleFiles {
  /** Names the content of all files: 16 hex digits. */
  readonly version: string;
  /** The page, leading to the files of this version. */
  readonly page: Buffer;
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

const FOLDER = join(import.meta.dirname, '../console');
const PAGE = 'console.html';
/** Stands in the page for the folder of the files, seen from the page's own address. */
const PLACE = '{{assets}}';
const VERSION_CHARS = 16;

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads them all. Throws when the page is not there. */
export function readConsoleFiles(): ConsoleFiles {
  const names = readdirSync(FOLDER).sort();
  const files = new Map<string, ConsoleFile>();
  const hash = createHash('sha256');
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const bytes = readFileSync(join(FOLDER, name));
    hash.update(`${name}\n`).update(bytes);
    files.set(name, { type, bytes });
  }
  const version = hash.digest('hex').slice(0, VERSION_CHARS);
  const page = readFileSync(join(FOLDER, PAGE), 'utf8').replaceAll(PLACE, `console/${version}`);
  return { version, page: Buffer.from(page), files };
}
