/** One read call's way out: bounds what waits for a slow caller, and knows when the caller has gone. */
import type { ServerWritableStream } from '@grpc/grpc-js';

/** Bytes that may wait for one caller before its read pauses; a single answer may be larger. */
const MOST_UNSENT_BYTES = 32 * 1_024;

export class AnswerStream {
  readonly #call: ServerWritableStream<unknown, Buffer>;
  readonly #gone = new AbortController();
  #unsentBytes = 0;
  #wake: (() => void) | null = null;

  constructor(call: ServerWritableStream<unknown, Buffer>) {
    this.#call = call;
    const leave = (): void => {
      this.#gone.abort();
      this.#wake?.();
    };
    call.once('cancelled', leave);
    call.once('close', leave);
    if (call.cancelled) leave();
  }

  /** Aborts when the caller cancelled or its connection ended. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  get gone(): boolean {
    return this.#gone.signal.aborted;
  }

  /**
   * Sends an answer. False = enough is waiting: await `drained` before sending more. Bytes are counted here because the
   * stream itself counts messages, and sixteen of the largest would be 272 MiB.
   */
  send(answer: Buffer): boolean {
    this.#unsentBytes += answer.length;
    this.#call.write(answer, () => {
      this.#unsentBytes -= answer.length;
      if (this.#unsentBytes < MOST_UNSENT_BYTES / 2) this.#wake?.();
    });
    return this.#unsentBytes < MOST_UNSENT_BYTES;
  }

  /** Resolves when there is room again or the caller has gone. */
  async drained(): Promise<void> {
    if (this.gone || this.#unsentBytes < MOST_UNSENT_BYTES) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = null;
  }
}
