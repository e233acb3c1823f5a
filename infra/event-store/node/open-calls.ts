/** Open-ended calls, so that a stopping node can end them with the status of a real server. */
import type { EventEmitter } from 'node:events';
import { notReady } from './call-errors.ts';

export class OpenCalls {
  readonly #calls = new Set<EventEmitter>();

  get count(): number {
    return this.#calls.size;
  }

  add(call: EventEmitter): void {
    this.#calls.add(call);
    call.once('close', () => {
      this.#calls.delete(call);
    });
  }

  /** Ends every open call as unavailable. */
  endAll(): void {
    for (const call of this.#calls) call.emit('error', notReady());
  }
}
