import { expect } from 'chai';
import { GatewayError } from '../../../commands/values/errors.ts';
import { WrongExpectedRevision } from '../../../commands/ports/event-store.ts';
import type { NewEvent } from '../../../commands/values/event.ts';
import { MemoryEventStore } from '../../support/fakes/memory-event-store.ts';
import { rejection } from '../../support/suite/rejection.ts';

const event = (id: string): NewEvent => ({ id, type: 'Happened', data: { id }, metadata: {} });

describe('MemoryEventStore', () => {
  it('refuses an append at another revision and accepts it at the exact one', async () => {
    const store = new MemoryEventStore();
    await store.append('a-1', 'no-stream', [event('1'), event('2')]);
    expect(await rejection(store.append('a-1', 'no-stream', [event('3')]))).to.be.instanceOf(
      WrongExpectedRevision,
    );
    expect((await store.append('a-1', 1n, [event('3')])).revision).to.equal(2n);
  });

  it('answers a repeat by its ids as a success and adds nothing', async () => {
    const store = new MemoryEventStore();
    const first = await store.append('a-1', 'no-stream', [event('1')]);
    await store.append('a-1', 0n, [event('2')]);
    expect(await store.append('a-1', 'no-stream', [event('1')])).to.deep.equal(first);
    expect(store.all).to.have.length(2);
  });

  it('yields stored events, then caught-up, then new events', async () => {
    const store = new MemoryEventStore();
    await store.append('a-1', 'no-stream', [event('1')]);
    await store.append('b-1', 'no-stream', [event('2')]);
    const end = new AbortController();
    const seen: string[] = [];
    for await (const item of store.subscribeToAll(null, end.signal, { streamPrefixes: ['a-'] })) {
      seen.push(item.kind === 'event' ? item.event.id : item.kind);
      if (item.kind === 'caught-up') await store.append('a-1', 0n, [event('3')]);
      if (seen.includes('3')) end.abort();
    }
    expect(seen).to.deep.equal(['1', 'caught-up', '3']);
  });

  it('keeps an append whose answer was lost', async () => {
    const store = new MemoryEventStore();
    store.loseNextAnswer = true;
    expect(await rejection(store.append('a-1', 'no-stream', [event('1')]))).to.be.instanceOf(GatewayError);
    expect(await store.readStream('a-1')).to.have.length(1);
  });
});
