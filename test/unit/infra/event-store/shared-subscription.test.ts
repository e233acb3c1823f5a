import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import type { SubscriptionItem } from '../../../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../../../commands/values/event.ts';
import { Follower, SharedSubscription } from '../../../../infra/event-store/shared-subscription.ts';

const eventAt = (position: bigint): SubscriptionItem => ({
  kind: 'event',
  event: { position, streamName: 'a-1' } as StoredEvent,
});

/** What a follower finds that waits while another takes twenty events of this size. */
async function foundAfterTwenty(eventBytes: bigint): Promise<ReturnType<SharedSubscription['take']>> {
  const items = Array.from({ length: 20 }, (_, n) => eventAt(BigInt(n + 1) * eventBytes));
  async function* source(): AsyncGenerator<SubscriptionItem> {
    const [first, ...rest] = items;
    for (const item of [first, { kind: 'caught-up' } as const, ...rest])
      if (item) yield await Promise.resolve(item);
  }
  const shared = new SharedSubscription(source, 0n);
  const { signal } = new AbortController();
  const [fast, slow] = [new Follower(null, undefined, signal), new Follower(null, undefined, signal)];
  for (const follower of [fast, slow]) shared.join(follower);
  for (let taken = 0; taken < items.length + 1;) {
    if (shared.take(fast) === 'none-yet') await nextTurn();
    else taken += 1;
  }
  return shared.take(slow);
}

describe('SharedSubscription', () => {
  it('keeps the items of a slow follower while they are small', async () => {
    expect(await foundAfterTwenty(1_024n)).to.deep.equal(eventAt(1_024n));
  });

  it('gives up those of a follower that is many bytes behind', async () => {
    expect(await foundAfterTwenty(1_048_576n)).to.equal('lost');
  });
});
