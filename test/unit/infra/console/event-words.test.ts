import { join } from 'node:path';
import { expect } from 'chai';
import { allEvents } from '../../../../commands/event-catalogue.ts';

interface Wording {
  readonly EVENT_GROUPS: readonly { events: readonly (readonly [type: string, words: string])[] }[];
  eventWords(type: string, data?: object): string;
}

describe('wording of events in the console', () => {
  let wording: Wording;
  let worded: string[];
  before(async () => {
    const file = join(import.meta.dirname, '../../../../infra/console/event-wording.js');
    wording = (await import(file)) as Wording;
    worded = wording.EVENT_GROUPS.flatMap(({ events }) => events.map(([type]) => type));
  });

  it('has words for every event, once', () => {
    const types = allEvents.map(({ type }) => type);
    expect(types.filter((type) => !worded.includes(type))).to.deep.equal([]);
    expect(worded.filter((type, at) => worded.indexOf(type) !== at)).to.deep.equal([]);
  });

  it('shows the letters of a type that it does not know', () => {
    expect(wording.eventWords('SomethingNewHappened')).to.equal('Something New Happened');
  });

  it('says how a person voted where that may be seen', () => {
    expect(wording.eventWords('ApprovalVoteCast', { decision: 'approve' })).to.equal('Voted to approve');
    expect(wording.eventWords('ApprovalVoteCast')).to.equal('Voted');
  });
});
