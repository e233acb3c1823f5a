import { expect } from 'chai';
import type { SubscriptionItem } from '../../../../commands/ports/event-store.ts';
import { ItemBuffer } from '../../../../infra/projector/item-buffer.ts';

const item = (position: bigint): SubscriptionItem => ({ kind: 'checkpoint', position });
const forever = (): Promise<void> => new Promise(() => undefined);

/** A source that a test feeds. */
class Source implements AsyncIterable<SubscriptionItem> {
  #items: SubscriptionItem[] = [];
  #arrived = Promise.withResolvers<undefined>();

  push(...items: SubscriptionItem[]): void {
    this.#items.push(...items);
    this.#arrived.resolve(undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SubscriptionItem> {
    for (;;) {
      yield* this.#items.splice(0);
      await this.#arrived.promise;
      this.#arrived = Promise.withResolvers();
    }
  }
}

const positionsOf = (items: readonly SubscriptionItem[] | null): readonly bigint[] =>
  (items ?? []).flatMap((each) => (each.kind === 'checkpoint' ? [each.position] : []));

describe('ItemBuffer', () => {
  let source: Source;
  let buffer: ItemBuffer;
  beforeEach(() => {
    source = new Source();
    buffer = new ItemBuffer(source, 100);
  });

  it('gathers what arrives during the pause', async () => {
    const pause = Promise.withResolvers<undefined>();
    const taken = buffer.take(10, () => pause.promise);
    source.push(item(1n));
    await new Promise(setImmediate);
    source.push(item(2n));
    await new Promise(setImmediate);
    pause.resolve(undefined);
    expect(positionsOf(await taken)).to.deep.equal([1n, 2n]);
  });

  it('ends the pause when there are as many as it may take', async () => {
    const taken = buffer.take(2, forever);
    source.push(item(1n));
    await new Promise(setImmediate);
    source.push(item(2n), item(3n));
    expect(positionsOf(await taken)).to.deep.equal([1n, 2n]);
  });

  it('ends the pause at an item that is prompt', async () => {
    const isPrompt = (each: SubscriptionItem): boolean => each.kind === 'checkpoint' && each.position === 2n;
    const taken = buffer.take(10, forever, isPrompt);
    source.push(item(1n));
    await new Promise(setImmediate);
    source.push(item(2n));
    expect(positionsOf(await taken)).to.deep.equal([1n, 2n]);
  });

  it('makes no pause where such an item is there already', async () => {
    source.push(item(2n), item(1n));
    const isPrompt = (each: SubscriptionItem): boolean => each.kind === 'checkpoint' && each.position === 2n;
    expect(positionsOf(await buffer.take(10, forever, isPrompt))).to.deep.equal([2n, 1n]);
  });
});
