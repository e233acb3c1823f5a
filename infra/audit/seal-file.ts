/**
 * `<DATA_DIR>/audit-seal.json`: the version of the sealer's memory when this process signed last. It lies outside of the database, so
 * it is ahead only of an older database that was put back.
 */
import { open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../commands/ports/ports.ts';
import { flushFolder } from '../backup/backup-manifest.ts';
import { codeOf } from './file-anchors.ts';

const Content = z.object({ installation: z.string(), version: z.int().min(0) });

export class SealFile {
  readonly #path: string;
  readonly #log: Log;

  constructor(dataDir: string, log: Log) {
    this.#path = join(dataDir, 'audit-seal.json');
    this.#log = log;
  }

  /** Null without a file, and with one that cannot be read or is of another installation; the next signing replaces it. */
  async version(installation: string): Promise<number | null> {
    let text;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      if (codeOf(error) !== 'ENOENT')
        this.#log.warn('audit: the file of the last signing cannot be read', this.#about(String(error)));
      return null;
    }
    const content = Content.safeParse(parsed(text));
    if (content.success && content.data.installation === installation) return content.data.version;
    const why = content.success ? 'it is of another installation' : 'it is damaged';
    this.#log.warn('audit: the file of the last signing is ignored', this.#about(why));
    return null;
  }

  /** After the version is committed: a file that is ahead means an older database. A failure is told and stops nothing. */
  async store(content: z.output<typeof Content>): Promise<void> {
    const draft = `${this.#path}.${String(process.pid)}.new`;
    try {
      const handle = await open(draft, 'w', 0o600);
      try {
        await handle.writeFile(`${JSON.stringify(content)}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, this.#path);
      await flushFolder(dirname(this.#path));
    } catch (error) {
      this.#log.warn('audit: the file of the last signing cannot be written', this.#about(String(error)));
    }
  }

  #about(why: string): Readonly<Record<string, unknown>> {
    return { file: this.#path, why };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
