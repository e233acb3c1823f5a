/** A channel without a buffer: hands pieces from a reader to a writer, one at a time; each waits for the other. */

/** The reader gives up waiting for its taker after this long, so that it holds nothing for one that stalls. */
const WAIT_MS = 200;

export class AsyncChannel<Piece> {
  #piece = Promise.withResolvers<Piece | null>();
  #asked = Promise.withResolvers<boolean>();
  #isOver = false;

  /** Reader: the piece that was asked for. */
  put(piece: Piece): void {
    this.#asked = Promise.withResolvers<boolean>();
    this.#piece.resolve(piece);
  }

  /** Reader: true when the next piece is asked for in time. */
  async isAskedForMore(): Promise<boolean> {
    if (this.#isOver) return false;
    const asked = this.#asked;
    const timer = setTimeout(() => {
      asked.resolve(false);
    }, WAIT_MS);
    try {
      return await asked.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Taker: the first piece; null when there is none. */
  first(): Promise<Piece | null> {
    return this.#piece.promise;
  }

  /** Taker: the next piece; null when there is none, or the reader did not wait. */
  async next(): Promise<Piece | null> {
    if (this.#isOver) return null;
    this.#piece = Promise.withResolvers<Piece | null>();
    this.#asked.resolve(true);
    return await this.#piece.promise;
  }

  /** Either: nothing more is put, or taken. */
  end(): void {
    this.#isOver = true;
    this.#piece.resolve(null);
    this.#asked.resolve(false);
  }
}
