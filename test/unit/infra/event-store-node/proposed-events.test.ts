import { expect } from 'chai';
import { ProposedEvents } from '../../../../infra/event-store/node/proposed-events.ts';
import { proposed } from '../../../contract/event-store/raw-calls.ts';

describe('ProposedEvents', () => {
  it('is limited in number too, however small the events are', () => {
    const events = new ProposedEvents();
    const smallest = proposed({ type: 'A', 'content-type': 'x' }).setData('');
    for (let n = 0; n < 100_000; n += 1) events.add(smallest);
    expect(events.records).to.have.length(100_000);
    expect(events.bytes).to.be.above(9_000_000);
    for (let n = 0; n < 100_000; n += 1) events.add(smallest);
    expect(events.refusal).to.deep.equal({ kind: 'too-large' });
    expect([events.records.length, events.bytes]).to.deep.equal([0, 0]);
  });
});
