/**
 * Read-your-writes on MCP: the position of a session's last write, for which its later reads wait. Kept in
 * this process only; a read on another replica is as fresh as a REST read without `If-Position`.
 */
import type { Position } from '../commands/values/position.ts';

const MAX_SESSIONS = 10_000;

export class SessionPositions {
  /** In the order of the last write, so that the first is evicted. */
  readonly #positions = new Map<string, Position>();
  readonly #maxSessions: number;

  constructor(maxSessions = MAX_SESSIONS) {
    this.#maxSessions = maxSessions;
  }

  /** The newest position written in this session, or null. */
  lastOf(sessionId: string): Position | null {
    return this.#positions.get(sessionId) ?? null;
  }

  /** Records a write; a position older than the known one changes nothing. */
  note(sessionId: string, position: Position): void {
    const known = this.#positions.get(sessionId);
    this.#positions.delete(sessionId);
    this.#positions.set(sessionId, known !== undefined && known > position ? known : position);
    if (this.#positions.size <= this.#maxSessions) return;
    const oldest = this.#positions.keys().next();
    if (oldest.done !== true) this.#positions.delete(oldest.value);
  }

  /** The session ended. */
  forget(sessionId: string): void {
    this.#positions.delete(sessionId);
  }
}
