/** A message that is given to the SMTP client before its bytes may be: they follow once the server asked and we agreed. */
import { once } from 'node:events';
import { Readable } from 'node:stream';

export class MessageSource extends Readable {
  readonly #asked = Promise.withResolvers<undefined>();
  #isComplete = false;

  /** Resolves when the client reads for the first time, which it does only after the server's 354. */
  get asked(): Promise<undefined> {
    return this.#asked.promise;
  }

  /** True once the last byte was given away: from then on the final dot may be on its way. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  override _read(): void {
    this.#asked.resolve(undefined);
    this.emit('wanted');
  }

  /** Gives the bytes as fast as they are taken. Content that fails ends the source with that error, short of its end. */
  async feed(content: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of content) {
        if (this.destroyed) return;
        if (!this.push(chunk)) await Promise.race([once(this, 'wanted'), once(this, 'close')]);
      }
    } catch (error) {
      // A new error: the client writes on those it is given.
      this.destroy(new Error('the message could not be read', { cause: error }));
      return;
    }
    if (this.destroyed) return;
    this.#isComplete = true;
    this.push(null);
  }
}
