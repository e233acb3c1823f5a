/** Random programs: store and model agree on every answer, on every stream and on the order of `$all`. */
import { expect } from 'chai';
import type { EventStoreDBClient } from '@eventstore/db-client';
import fc from 'fast-check';
import { isLong, timesOf } from '../../support/suite/long.ts';
import { describeStores } from './store-under-test.ts';
import { ProgramRun, connectTwice, programs } from './stream-program.ts';

const BUDGET_MS = timesOf(4_000, 120_000);

describeStores('a random program of appends, deletes and reads', (store) => {
  let clients: EventStoreDBClient[];
  before(() => {
    clients = connectTwice(store().url);
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.dispose()));
  });

  it('returns the answers of the model, also after a restart', async function () {
    this.timeout(isLong ? 300_000 : 120_000);
    let runs = 0;
    const endAt = performance.now() + BUDGET_MS;
    // A failure names its seed and path; both go into the options below to see it again.
    await fc.assert(
      fc.asyncProperty(programs(store().restart !== null), async (program) => {
        // A program that has begun is run to its end: cut off in a restart, it would leave a node behind.
        if (performance.now() > endAt) return;
        await new ProgramRun(store(), clients).run(program);
        runs += 1;
      }),
      { numRuns: timesOf(200, 10_000) },
    );
    expect(runs).to.be.above(timesOf(5, 100));
  });
});
