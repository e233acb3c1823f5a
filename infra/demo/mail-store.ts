/**
 * Mail of the npm demo server on disk: one file per message, named by its content, and an index that is replaced
 * atomically. UIDVALIDITY and UIDs survive every restart.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const Folder = z.object({
  path: z.string(),
  uidValidity: z.int(),
  uidNext: z.int(),
  subscribed: z.boolean(),
  specialUse: z.string().optional(),
  messages: z.array(
    z.object({ uid: z.int(), flags: z.array(z.string()), internalDate: z.string(), file: z.string() }),
  ),
});
const Index = z.object({ isClean: z.boolean(), folders: z.array(Folder) });

export interface KeptMessage {
  readonly uid: number;
  readonly flags: readonly string[];
  readonly internalDate: string;
  /** One character per byte. */
  readonly raw: string;
}

export interface KeptFolder {
  readonly path: string;
  readonly uidValidity: number;
  readonly uidNext: number;
  readonly subscribed: boolean;
  readonly specialUse?: string;
  readonly messages: readonly KeptMessage[];
}

/** UIDs given out in the last moment before a crash may be lost; skipping this many makes sure none is used twice. */
const UIDS_SKIPPED_AFTER_CRASH = 1_000;

export class MailStore {
  readonly #folder: string;
  readonly #saved = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The folders as last saved, null at the first start. Throws when the index cannot be read. */
  async load(): Promise<readonly KeptFolder[] | null> {
    await mkdir(join(this.#folder, 'messages'), { recursive: true, mode: 0o700 });
    const text = await readFile(this.#indexFile, 'utf8').catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
      throw error;
    });
    if (text === null) return null;
    const { isClean, folders } = Index.parse(JSON.parse(text));
    const skipped = isClean ? 0 : UIDS_SKIPPED_AFTER_CRASH;
    const kept: KeptFolder[] = [];
    for (const { messages, uidNext, specialUse, ...folder } of folders) {
      kept.push({
        ...folder,
        ...(specialUse === undefined ? {} : { specialUse }),
        uidNext: uidNext + skipped,
        messages: await Promise.all(messages.map(({ file, ...message }) => this.#read(file, message))),
      });
    }
    await this.#removeOrphans();
    return kept;
  }

  async #read(file: string, message: Omit<KeptMessage, 'raw'>): Promise<KeptMessage> {
    this.#saved.add(file);
    return { ...message, raw: await readFile(join(this.#folder, 'messages', file), 'latin1') };
  }

  /** Messages first, then the index: a crash in between leaves the index of before. */
  async save(folders: readonly KeptFolder[], isClean: boolean): Promise<void> {
    const index: z.input<typeof Index> = { isClean, folders: [] };
    for (const { messages, ...folder } of folders) {
      const saved: z.input<typeof Folder>['messages'] = [];
      for (const { raw, flags, ...message } of messages) {
        saved.push({ ...message, flags: [...flags], file: await this.#write(raw) });
      }
      index.folders.push({ ...folder, messages: saved });
    }
    const fresh = `${this.#indexFile}.new`;
    await writeFile(fresh, JSON.stringify(index), { mode: 0o600 });
    await rename(fresh, this.#indexFile);
  }

  async #write(raw: string): Promise<string> {
    const bytes = Buffer.from(raw, 'latin1');
    const file = `${createHash('sha256').update(bytes).digest('hex')}.eml`;
    if (this.#saved.has(file)) return file;
    const path = join(this.#folder, 'messages', file);
    await writeFile(`${path}.new`, bytes, { mode: 0o600 });
    await rename(`${path}.new`, path);
    this.#saved.add(file);
    return file;
  }

  async #removeOrphans(): Promise<void> {
    for (const file of await readdir(join(this.#folder, 'messages'))) {
      if (!this.#saved.has(file)) await rm(join(this.#folder, 'messages', file), { force: true });
    }
  }

  get #indexFile(): string {
    return join(this.#folder, 'index.json');
  }
}
