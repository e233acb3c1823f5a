/** Wakes listeners after a commit; a listener of one stream is not woken for others. */
import { WakeSignal } from '../../concurrency/wake-signal.ts';
import type { StoredRecord } from './stored-record.ts';

/** The key of listeners to every stream. */
const ALL = '';

/** One listener. To miss no commit: read the log, and sleep only if nothing was found. */
class CommitListener extends WakeSignal implements Disposable {
  readonly #forget: (listener: CommitListener) => void;

  constructor(forget: (listener: CommitListener) => void) {
    super();
    this.#forget = forget;
  }

  [Symbol.dispose](): void {
    this.#forget(this);
  }
}

export class CommitNotifier {
  readonly #byStream = new Map<string, Set<CommitListener>>();

  /** A listener for one stream, or for all. The caller disposes of it. */
  listen(stream: string = ALL): CommitListener {
    const listeners = this.#byStream.get(stream) ?? new Set();
    this.#byStream.set(stream, listeners);
    const listener = new CommitListener((done) => {
      listeners.delete(done);
      if (listeners.size === 0 && this.#byStream.get(stream) === listeners) this.#byStream.delete(stream);
    });
    listeners.add(listener);
    return listener;
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
    for (const listener of this.#byStream.get(stream) ?? []) listener.ring();
  }
}
