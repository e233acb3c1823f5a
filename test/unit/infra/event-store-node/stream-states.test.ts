import { expect } from 'chai';
import { LogRows } from '../../../../infra/event-store/node/log-rows.ts';
import { EMPTY_STREAM, parseStreamMetadata } from '../../../../infra/event-store/node/stream-state.ts';
import { StreamStates } from '../../../../infra/event-store/node/stream-states.ts';

const MIB = 1_048_576;

/** How many of the streams are read from the database. */
async function lookedUp(states: StreamStates, names: readonly string[], asked: string[]): Promise<number> {
  asked.length = 0;
  for (const name of names) await states.read(name);
  return asked.length;
}

describe('StreamStates', () => {
  const asked: string[] = [];
  const query = ({ values }: { values?: unknown[] }): Promise<{ rows: unknown[][] }> => {
    asked.push(...((values?.[0] ?? []) as string[]));
    return Promise.resolve({ rows: [] });
  };
  const rows = new LogRows({ query }, { prepared: false });
  const numbered = (count: number, suffix = ''): string[] =>
    Array.from({ length: count }, (_unused, n) => `stream-${String(n)}${suffix}`);

  it('keeps the newest states up to a number of bytes', async () => {
    const states = new StreamStates(rows);
    const large = { $tb: 2 ** 63, filler: 'x'.repeat(MIB) };
    const metadata = parseStreamMetadata(Buffer.from(JSON.stringify(large)));
    const names = numbered(40);
    for (const name of names) states.committed(new Map([[name, { ...EMPTY_STREAM, metadata }]]));
    expect(await lookedUp(states, names.slice(-31), asked)).to.equal(0);
    expect(await lookedUp(states, names, asked)).to.equal(9);
  });

  it('counts the bytes of stream names', async () => {
    const states = new StreamStates(rows);
    const names = numbered(10_000, '-'.repeat(2_400));
    states.committed(new Map(names.map((name) => [name, EMPTY_STREAM])));
    expect(await lookedUp(states, names, asked)).to.be.within(3_000, 4_000);
    states.clear();
    states.committed(new Map([['stream-new', EMPTY_STREAM]]));
    expect(await lookedUp(states, ['stream-new'], asked)).to.equal(0);
  });

  it('keeps the metadata text only of a deleted stream', () => {
    const bytes = (tb: number) => Buffer.from(JSON.stringify({ $tb: tb, owner: 'somebody' }));
    expect(parseStreamMetadata(bytes(3)).json).to.have.length(0);
    expect(Buffer.from(parseStreamMetadata(bytes(2 ** 63)).json)).to.deep.equal(bytes(2 ** 63));
  });
});
