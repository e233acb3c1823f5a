import { expect } from 'chai';
import { SingleFlight } from '../../../../infra/concurrency/single-flight.ts';
import { rejection } from '../../../support/suite/rejection.ts';

/** Reads that end when they are told to, numbered in the order in which they began. */
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

describe('reads that are joined', () => {
  it('tell nobody what was read before it was asked', async () => {
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
    expect(await alone, 'at once, nobody else being there').to.equal(3);
  });

  it('keep different things apart', async () => {
    const { end, read } = reads();
    const joined = new SingleFlight<number>();
    const both = Promise.all([joined.ask('a', read), joined.ask('b', read)]);
    end(0);
    end(1);
    expect(await both).to.deep.equal([0, 1]);
  });

  it('fail for those who share the failed one, and for nobody after', async () => {
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
});
