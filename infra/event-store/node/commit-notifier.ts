/** Wakes listeners after a commit; a listener of one stream is not woken for others. */
import type { StoredRecord } from './stored-record.ts';

/** The key of listeners to every stream. */
const ALL = '';

/** One listener. To miss no commit: reset it, read the log, and wait only if nothing was found. */
export class CommitListener implements Disposable {
  readonly #forget: (bell: CommitListener) => void;
  #rung = false;
  #wake: (() => void) | null = null;

  constructor(forget: (bell: CommitListener) => void) {
    this.#forget = forget;
  }

  reset(): void {
    this.#rung = false;
  }

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves when a commit has come since the last reset, or when the signal aborts. */
  async rung(signal: AbortSignal): Promise<void> {
    if (this.#rung || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      signal.addEventListener('abort', this.#wake, { once: true });
    });
    if (this.#wake) signal.removeEventListener('abort', this.#wake);
    this.#wake = null;
  }

  [Symbol.dispose](): void {
    this.#forget(this);
  }
}

export class CommitNotifier {
  readonly #byStream = new Map<string, Set<CommitListener>>();

  /** A listener for one stream, or for all. The caller disposes of it. */
  listen(stream: string = ALL): CommitListener {
    const bells = this.#byStream.get(stream) ?? new Set();
    this.#byStream.set(stream, bells);
    const bell = new CommitListener((done) => {
      bells.delete(done);
      if (bells.size === 0 && this.#byStream.get(stream) === bells) this.#byStream.delete(stream);
    });
    bells.add(bell);
    return bell;
  }

  /** Call after a commit of these records. */
  ring(records: readonly StoredRecord[]): void {
    this.#ring(ALL);
    if (this.#byStream.size === 0) return;
    for (const stream of new Set(records.map((record) => record.stream))) this.#ring(stream);
  }

  /** Call when another writer may have written to the log. */
  ringAll(): void {
    for (const stream of [...this.#byStream.keys()]) this.#ring(stream);
  }

  #ring(stream: string): void {
    for (const bell of this.#byStream.get(stream) ?? []) bell.ring();
  }
}
