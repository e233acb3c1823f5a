/**
 * Committed stream states in memory. Only the writer adds entries, between its commits, so an entry is never
 * older than the log; readers do not add any.
 */
import type { LogRows } from './log-rows.ts';
import { EMPTY_STREAM, baseStream, ownState } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';

/** About a hundred thousand streams with names of typical length. */
const MOST_BYTES = 32 * 1_048_576;

/** An entry of the map with its state, as a flat size. */
const STATE_OVERHEAD = 256;

const weight = (base: string, { metadata }: StreamState): number =>
  STATE_OVERHEAD + 2 * base.length + metadata.json.length;

export class StreamStates {
  readonly #rows: LogRows;
  readonly #states = new Map<string, StreamState>();
  #bytes = 0;

  constructor(rows: LogRows) {
    this.#rows = rows;
  }

  /**
   * For the writer: the states of base streams; unknown ones are loaded over its own connection. Unknown
   * streams in `taken` are assumed to be empty and returned in `takenForEmpty`: the commit must verify them.
   */
  async forWriting(
    rows: LogRows,
    bases: readonly string[],
    taken: ReadonlySet<string>,
  ): Promise<{ readonly states: Map<string, StreamState>; readonly takenForEmpty: readonly string[] }> {
    const states = new Map<string, StreamState>();
    const missing: string[] = [];
    const takenForEmpty: string[] = [];
    for (const base of new Set(bases)) {
      const state = this.#states.get(base);
      if (state) states.set(base, state);
      else if (taken.has(base)) takenForEmpty.push(base);
      else missing.push(base);
    }
    if (missing.length > 0) {
      for (const [base, state] of await rows.states(missing)) states.set(base, state);
    }
    return { states, takenForEmpty };
  }

  /** For the writer: stores the states a commit changed. */
  committed(changed: ReadonlyMap<string, StreamState>): void {
    for (const [base, state] of changed) {
      this.#forget(base); // moves it to the newest end; the oldest is evicted first
      this.#states.set(base, state);
      this.#bytes += weight(base, state);
    }
    for (const base of this.#states.keys()) {
      if (this.#bytes <= MOST_BYTES) break;
      this.#forget(base);
    }
  }

  #forget(base: string): void {
    const state = this.#states.get(base);
    if (!state) return;
    this.#states.delete(base);
    this.#bytes -= weight(base, state);
  }

  /** Clears the cache: another writer may have written to the log. */
  clear(): void {
    this.#states.clear();
    this.#bytes = 0;
  }

  /** The state of a stream for readers. */
  async read(stream: string): Promise<StreamState> {
    const base = baseStream(stream);
    const known = this.#states.get(base) ?? (await this.#rows.states([base])).get(base) ?? EMPTY_STREAM;
    return ownState(stream, known);
  }
}
