/**
 * Read-your-writes on MCP: the position of the last write of a session, or of a token without sessions, for
 * which its later reads wait. Kept in this process only; a read on another replica is as fresh as a REST read
 * without `If-Position`.
 */
import type { Position } from '../commands/values/position.ts';

const MAX_WRITERS = 10_000;

export class LastWrites {
  /** In the order of the last write, so that the first is evicted. */
  readonly #positions = new Map<string, Position>();
  readonly #maxWriters: number;

  constructor(maxWriters = MAX_WRITERS) {
    this.#maxWriters = maxWriters;
  }

  /** The newest position that this session or token wrote, or null. */
  positionOf(writer: string): Position | null {
    return this.#positions.get(writer) ?? null;
  }

  /** Records a write; a position older than the known one changes nothing. */
  note(writer: string, position: Position): void {
    const known = this.#positions.get(writer);
    this.#positions.delete(writer);
    this.#positions.set(writer, known !== undefined && known > position ? known : position);
    if (this.#positions.size <= this.#maxWriters) return;
    const oldest = this.#positions.keys().next();
    if (oldest.done !== true) this.#positions.delete(oldest.value);
  }

  /** The session ended. */
  forget(writer: string): void {
    this.#positions.delete(writer);
  }
}
