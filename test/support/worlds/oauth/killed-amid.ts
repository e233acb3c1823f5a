/** A process that is killed while several clients work with it; each goes on at the process that lives. */
import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayProcess } from '../gateway-process.ts';
import type { Reply } from './oauth-client.ts';

export interface KilledAmidOptions {
  readonly victim: GatewayProcess;
  readonly living: GatewayProcess;
  /** So many clients stand before a step of their own; then all take it at once. */
  readonly clients: number;
  /** From then to the kill; null = nobody is killed. */
  readonly afterMs: number | null;
}

export class KilledAmid {
  readonly #options: KilledAmidOptions;
  readonly #all = Promise.withResolvers<undefined>();
  readonly #dead = Promise.withResolvers<undefined>();
  #standing = 0;
  #isOver = false;
  /** Requests whose answer was lost. */
  lost = 0;

  constructor(options: KilledAmidOptions) {
    this.#options = options;
  }

  /** Resolves when every client stands before its step. */
  async meet(): Promise<void> {
    this.#standing += 1;
    if (this.#standing === this.#options.clients) {
      this.#all.resolve(undefined);
      this.#kill().then(() => {
        this.#dead.resolve(undefined);
      }, this.#dead.reject);
    }
    await this.#all.promise;
  }

  /** On any process while both live, on the victim once its time has come, then on the other one. */
  async send(request: (address: string) => Promise<Reply>): Promise<Reply> {
    const { victim, living } = this.#options;
    if (this.#isOver) return await request(living.address);
    try {
      return await request(victim.address);
    } catch (error) {
      if (this.#options.afterMs === null) throw error;
      await this.#dead.promise;
      this.lost += 1;
      return await request(living.address);
    }
  }

  async #kill(): Promise<void> {
    const { victim, afterMs } = this.#options;
    if (afterMs === null) return;
    await delay(afterMs);
    await victim.kill();
    this.#isOver = true;
  }
}
