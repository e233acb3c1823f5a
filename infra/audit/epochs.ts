/** The epoch that checkpoints belong to now, and the beginning of the next one: after a restore, or at an operator's word. */
import type { Clock, Log } from '../../commands/ports/ports.ts';
import type { SealFile } from './seal-file.ts';
import type { SealMemory, Watch } from './seal-memory.ts';

interface Parts {
  readonly memory: SealMemory;
  readonly auditName: string;
  /** Null where nothing is kept beside the database. */
  readonly file: SealFile | null;
}

export class Epochs {
  readonly #ports: { readonly clock: Clock; readonly log: Log };
  readonly #parts: Parts;

  constructor(ports: { readonly clock: Clock; readonly log: Log }, parts: Parts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** The watch in the epoch of now: after a restore, by whatever means, a new one. Throws `SealMemoryAltered`. */
  async present(): Promise<Watch> {
    const { memory, auditName, file } = this.#parts;
    // Read first: another process may sign meanwhile, and the database is then ahead of the file.
    const signed = (await file?.version(memory.installation)) ?? 0;
    const watch = await memory.watch(auditName);
    const isOlder = signed > watch.version;
    if (isOlder)
      this.#ports.log.error('audit: an older database was put back, a new epoch begins', {
        version: watch.version,
        signed,
      });
    if (!isOlder && !watch.restored) return watch;
    const next = await memory.move(watch, nextEpoch(watch, this.#ports.clock.now()), []);
    await this.remember(next);
    return next;
  }

  /** Begins a new epoch at an operator's word: what was signed before is no longer asked of the log. */
  async begin(comment: string): Promise<number> {
    const { memory, auditName } = this.#parts;
    const watch = (await memory.watchUnchecked()) ?? (await memory.watch(auditName));
    const next = await memory.restart(watch, nextEpoch(watch, this.#ports.clock.now(), comment));
    await this.remember(next);
    return next.epoch;
  }

  /** Keeps the version beside the database, once it is committed there. */
  async remember({ version }: Watch): Promise<void> {
    await this.#parts.file?.store({ installation: this.#parts.memory.installation, version });
  }
}

/** The number is one that no earlier history of this installation can have used. */
const nextEpoch = (watch: Watch, now: Date, comment: string | null = null): Watch => ({
  ...watch,
  epoch: Math.max(watch.epoch + 1, Math.floor(now.getTime() / 1_000)),
  epochReason: comment === null ? 'restore' : 'operator',
  epochComment: comment,
  restored: false,
});
