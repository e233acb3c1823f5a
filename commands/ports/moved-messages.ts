/** Where messages went that this gateway moved: an id names a place, so a move gives a message another one. */

export interface MessageMove {
  /** The id the message had before. */
  readonly messageId: string;
  /** The id it had afterwards; null where the mail server did not tell. */
  readonly newId: string | null;
  readonly operationId: string;
}

export interface MessageMoves {
  /** The moves of a message from the one that made this id stale to the last one known; empty when there was none. */
  follow(messageId: string): Promise<readonly MessageMove[]>;
}
