/** The answers of one read call: limits what waits for a slow caller, and detects that the caller is gone. */
import type { ServerWritableStream } from '@grpc/grpc-js';

/** Unsent bytes of one caller before its read pauses; a single answer may be larger. */
const MOST_UNSENT_BYTES = 32 * 1_024;

/** A reason, because `abort()` without one makes an exception with its stack. */
const GONE = 'the caller is gone';

export class AnswerStream {
  readonly #call: ServerWritableStream<unknown, Buffer>;
  readonly #gone = new AbortController();
  #unsentBytes = 0;
  #wake: (() => void) | null = null;

  constructor(call: ServerWritableStream<unknown, Buffer>) {
    this.#call = call;
    const leave = (): void => {
      this.#gone.abort(GONE);
      this.#wake?.();
    };
    call.once('cancelled', leave);
    call.once('close', leave);
    if (call.cancelled) leave();
  }

  /** Aborts when the caller cancels or its connection ends. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  get gone(): boolean {
    return this.#gone.signal.aborted;
  }

  /**
   * Sends an answer. False = the buffer is full: await `drained` before sending more. Bytes are counted here
   * because the stream counts messages, and sixteen of the largest would be 272 MiB.
   */
  send(answer: Buffer): boolean {
    this.#unsentBytes += answer.length;
    this.#call.write(answer, () => {
      this.#unsentBytes -= answer.length;
      if (this.#unsentBytes < MOST_UNSENT_BYTES / 2) this.#wake?.();
    });
    return this.#unsentBytes < MOST_UNSENT_BYTES;
  }

  /** Resolves when there is room again or the caller is gone. */
  async drained(): Promise<void> {
    if (this.gone || this.#unsentBytes < MOST_UNSENT_BYTES) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = null;
  }
}
