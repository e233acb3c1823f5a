import { expect } from 'chai';
import { SingleFlight } from '../../../../infra/concurrency/single-flight.ts';
import { rejection } from '../../../support/suite/rejection.ts';

/** Reads that end when the test decides, numbered in the order of their start. */
function reads() {
  const ends: { readonly resolve: (value: number) => void; readonly reject: (error: Error) => void }[] = [];
  const read = (): Promise<number> =>
    new Promise((resolve, reject) => {
      ends.push({ resolve, reject });
    });
  const end = (number: number): void => {
    ends[number]?.resolve(number);
  };
  return { ends, end, read };
}

describe('SingleFlight', () => {
  it('answers with a read that started after the call', async () => {
    const { ends, end, read } = reads();
    const joined = new SingleFlight<number>();
    const first = joined.ask('a', read);
    const later = [joined.ask('a', read), joined.ask('a', read)];
    expect(ends.length, 'one at a time').to.equal(1);
    end(0);
    expect(await first).to.equal(0);
    await Promise.resolve();
    expect(ends.length, 'one for both').to.equal(2);
    const last = joined.ask('a', read);
    end(1);
    expect(await Promise.all(later)).to.deep.equal([1, 1]);
    await Promise.resolve();
    end(2);
    expect(await last).to.equal(2);
    const alone = joined.ask('a', read);
    end(3);
    expect(await alone, 'at once, no other read being under way').to.equal(3);
  });

  it('separates keys', async () => {
    const { end, read } = reads();
    const joined = new SingleFlight<number>();
    const both = Promise.all([joined.ask('a', read), joined.ask('b', read)]);
    end(0);
    end(1);
    expect(await both).to.deep.equal([0, 1]);
  });

  it('fails for the callers that share the failed read, and for no later ones', async () => {
    const { ends, end, read } = reads();
    const joined = new SingleFlight<number>();
    const first = rejection(joined.ask('a', read));
    const second = joined.ask('a', read);
    ends[0]?.reject(new Error('away'));
    expect((await first).message).to.equal('away');
    await Promise.resolve();
    end(1);
    expect(await second).to.equal(1);
  });

  it('shares the read in progress with callers that join it', async () => {
    const { ends, end, read } = reads();
    const flight = new SingleFlight<number>();
    const both = Promise.all([flight.join('a', read), flight.join('a', read)]);
    expect(ends.length).to.equal(1);
    end(0);
    expect(await both).to.deep.equal([0, 0]);
    const later = flight.join('a', read);
    end(1);
    expect(await later).to.equal(1);
  });
});
