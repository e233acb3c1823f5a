/** Checkpoints as files in a folder outside of the gateway, where files can be created and not changed (`AUDIT_ANCHOR_DIR`). */
import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface AnchoredNote {
  readonly size: number;
  readonly note: string;
}

const FILE = /^(0|[1-9][0-9]{0,15})\.txt$/;

export class FileAnchors {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The largest checkpoint of this origin; null when there is none. Throws what the file system throws. */
  async newest(origin: string): Promise<AnchoredNote | null> {
    const folder = join(this.#folder, nameOf(origin));
    const files = await readdir(folder).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    });
    const sizes = files.flatMap((file) => FILE.exec(file)?.[1] ?? []).map(Number);
    for (const size of sizes.toSorted((a, b) => b - a)) {
      const note = await readFile(join(folder, `${String(size)}.txt`), 'utf8');
      // The rest of one that broke off while it was written.
      if (note.startsWith(`${origin}\n${String(size)}\n`) && note.includes('\n\n')) return { size, note };
    }
    return null;
  }

  /**
   * Stores a checkpoint and returns its name. One that is there is kept: the same is a success. Throws what the file system
   * throws, also for another one under its name.
   */
  async store(origin: string, { size, note }: AnchoredNote): Promise<string> {
    const name = `${nameOf(origin)}/${String(size)}.txt`;
    await mkdir(join(this.#folder, nameOf(origin)), { recursive: true });
    try {
      const file = await open(join(this.#folder, name), 'wx');
      try {
        await file.writeFile(note);
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (error) {
      const isThere =
        codeOf(error) === 'EEXIST' && (await readFile(join(this.#folder, name), 'utf8')) === note;
      if (!isThere) throw error;
    }
    return name;
  }
}

const nameOf = (origin: string): string => createHash('sha256').update(origin).digest('hex');

/** The code of a failure of the file system, for people. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'failed';
