import { expect } from 'chai';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { textOf } from '../../../../commands/ports/statement.ts';
import { applyBatch } from '../../../../infra/projector/apply-batch.ts';
import type { StoredEvent } from '../../../../commands/values/event.ts';
import type { Projection } from '../../../../projections/projection.ts';

const TEXT = 'insert into counted select $1';

const counting: Projection = {
  name: 'counting',
  version: 1,
  tables: [],
  everyEvent: true,
  create: () => [],
  apply: async ({ log, sql }) => {
    await sql.query(TEXT, [log.length]);
  },
};

/** Of another writer, as the log may hold them. */
const eventsOf = (count: number): StoredEvent[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `event ${String(at)}`,
    type: 'Unknown',
    streamName: 'other-1',
    revision: BigInt(at),
    position: BigInt(at),
    data: {},
    metadata: {},
    storedAt: new Date(0),
  }));

/** Whether each statement of the projection had a name. */
async function namesOf(batches: readonly number[]): Promise<readonly boolean[]> {
  const named: boolean[] = [];
  const sql: Sql = {
    query: (statement) => {
      if (textOf(statement) === TEXT) named.push(typeof statement !== 'string');
      return Promise.resolve([{}] as never[]);
    },
    transaction: (work) => work(sql),
  };
  for (const size of batches) {
    const events = eventsOf(size);
    const checkpoints = new Map([['counting_v1', -1n]]);
    const to = events.at(-1)?.position ?? 0n;
    const open = () => Promise.reject(new Error('nothing is opened'));
    await applyBatch(sql, open, { projections: [counting], checkpoints, events, to });
  }
  return named;
}

describe('the statements of a projection', () => {
  it('names statements where events come one by one, and none in a large batch', async () => {
    const few = [1, 1, 1, 1, 1, 2, 32];
    expect(await namesOf([...few, 33, 5_000])).to.deep.equal([
      ...[false, false, false, false, true, true, true],
      ...[false, false],
    ]);
  });
});
