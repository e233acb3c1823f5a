/** One read call's way out: honours back-pressure and knows when the caller has gone. */
import { once } from 'node:events';
import type { ServerWritableStream } from '@grpc/grpc-js';

export class AnswerStream {
  readonly #call: ServerWritableStream<unknown, Buffer>;
  readonly #gone = new AbortController();

  constructor(call: ServerWritableStream<unknown, Buffer>) {
    this.#call = call;
    const leave = (): void => {
      this.#gone.abort();
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

  /** Sends an answer. False = the buffer is full: await `drained` before sending more. */
  send(answer: Buffer): boolean {
    return this.#call.write(answer);
  }

  /** Resolves when there is room again or the caller has gone. */
  async drained(): Promise<void> {
    if (this.gone) return;
    await once(this.#call, 'drain', { signal: this.signal }).catch((error: unknown) => {
      if (!this.gone) throw error;
    });
  }
}
