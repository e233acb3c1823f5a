import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { type Outcome, type Sweeper, SweeperRun } from '../../../../infra/background/run-sweeper.ts';
import { runRows } from '../../../../infra/background/run-sweepers.ts';
import { createMetrics } from '../../../../infra/observability/metrics.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { Clock, Sql } from '../../../../commands/ports/ports.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

const HOUR_MS = 3_600_000;

interface Item {
  readonly id: string;
  readonly mailboxId: string;
}

const item = (id: string, mailboxId = 'mbx_1'): Item => ({ id, mailboxId });

/** A sweeper of these items, which stay due until they are settled. */
function sweeperOf(
  due: Map<string, Item>,
  settle: (item: Item) => Promise<Outcome>,
  row: Partial<Sweeper<Item>> = {},
): Sweeper {
  const sweeper: Sweeper<Item> = {
    name: 'items',
    everyMs: 1_000,
    atOnce: 2,
    pauses: { firstMs: 1_000, mostMs: 60_000 },
    find: ({ except }) => Promise.resolve([...due.values()].filter(({ id }) => !except.includes(id))),
    keyOf: ({ id }) => id,
    mailboxOf: ({ mailboxId }) => mailboxId,
    settle: async (task) => {
      const outcome = await settle(task);
      if (outcome === 'settled') due.delete(task.id);
      return outcome;
    },
    ...row,
  };
  return sweeper;
}

const dueOf = (...items: readonly Item[]): Map<string, Item> => new Map(items.map((each) => [each.id, each]));

describe('SweeperRun', () => {
  it('begins soon when its probe holds, at most every everyMs, and is not behind while it does not', async () => {
    const clock = new ManualClock();
    const found: number[] = [];
    const find = () => {
      found.push(clock.elapsedMs());
      return Promise.resolve([]);
    };
    const row = sweeperOf(new Map(), () => Promise.resolve('settled'), {
      find,
      everyMs: 5_000,
      probe: 'true',
    });
    const run = new SweeperRun(row, { clock, log: silentLog });
    const stopping = new AbortController();
    const ended = run.run(stopping.signal, HOUR_MS);
    await eventually(() => found.length === 1);
    for (let second = 0; second < 8; second += 1) {
      run.probed(true);
      await setImmediate();
      clock.advance(1_000);
    }
    expect(found).to.have.length(3);
    clock.advance(HOUR_MS);
    expect(run.lagSeconds).to.be.greaterThan(3_000);
    run.probed(false);
    expect(run.lagSeconds).to.equal(0);
    await setImmediate();
    expect(found).to.have.length(3);
    stopping.abort();
    await ended;
  });

  it('lets every row ask for itself while the probes cannot be asked', async () => {
    const clock = new ManualClock();
    let found = 0;
    const find = () => {
      found += 1;
      return Promise.resolve([]);
    };
    const row = sweeperOf(new Map(), () => Promise.resolve('settled'), { find, probe: 'broken' });
    const parts = { clock, log: silentLog };
    const sql = { query: () => Promise.reject(new Error('column does not exist')) } as unknown as Sql;
    const stopping = new AbortController();
    const ended = runRows([new SweeperRun(row, parts)], { ...parts, sql }, stopping.signal);
    await eventually(() => found === 2);
    stopping.abort();
    await ended;
  });

  it('begins a task only when the directory is current, also after a long silence', async () => {
    const known: boolean[] = [];
    let isCurrent = false;
    const directory = {
      untilCurrent: async () => {
        await setImmediate();
        isCurrent = true;
        return true;
      },
    };
    const settle = (): Promise<Outcome> => {
      known.push(isCurrent);
      return Promise.resolve('settled');
    };
    const parts = { clock: new ManualClock(), log: silentLog, directory };
    const run = new SweeperRun(sweeperOf(dueOf(item('one')), settle), parts);
    await run.pass();
    await eventually(() => run.isIdle);
    expect(known).to.deep.equal([true]);
  });

  it('looks for more of a mailbox when a task of it ends', async () => {
    const due = dueOf(item('one'), item('two'), item('three'));
    const row = sweeperOf(due, () => Promise.resolve('settled'), {
      everyMs: HOUR_MS,
      ofOneMailbox: 1,
      find: ({ except, busy }) =>
        Promise.resolve([...due.values()].filter(({ id }) => !except.includes(id)).slice(0, 1 - busy.length)),
    });
    const run = new SweeperRun(row, { clock: new ManualClock(), log: silentLog });
    const stopping = new AbortController();
    const ended = run.run(stopping.signal);
    await eventually(() => due.size === 0);
    stopping.abort();
    await ended;
  });

  it('retries after a growing pause, even when the system clock is set', async () => {
    for (const stepMs of [-HOUR_MS, HOUR_MS]) {
      const clock = new ManualClock();
      let tries = 0;
      const sweeper = sweeperOf(dueOf(item('a')), () => {
        tries += 1;
        return tries === 2 ? Promise.reject(new Error('defect')) : Promise.resolve('later');
      });
      const run = new SweeperRun(sweeper, { clock, log: silentLog });
      const pass = async (): Promise<void> => {
        await run.pass();
        await setImmediate();
      };
      await pass();
      clock.step(stepMs);
      await pass();
      expect(tries, 'not at once').to.equal(1);
      clock.advance(1_200);
      await pass();
      expect(tries, 'after the pause').to.equal(2);
      clock.advance(1_200);
      await pass();
      expect(tries, 'the pause grows').to.equal(2);
      clock.advance(1_200);
      await pass();
      expect(tries).to.equal(3);
    }
  });

  it('leaves an item that another process holds to the next pass, without a growing pause', async () => {
    const clock = new ManualClock();
    let tries = 0;
    const sweeper = sweeperOf(dueOf(item('a')), () => {
      tries += 1;
      return Promise.resolve('held');
    });
    const run = new SweeperRun(sweeper, { clock, log: silentLog });
    for (let second = 0; second < 10; second += 1) {
      await run.pass();
      await setImmediate();
      clock.advance(1_000);
    }
    expect(tries).to.equal(10);
  });

  it('starts as many tasks as its limits allow, without delaying another mailbox', async () => {
    const due = dueOf(item('a'), item('b'), item('c'), item('d', 'mbx_2'), item('e', 'mbx_3'));
    const begun: string[] = [];
    const hanging = new Promise<Outcome>(() => undefined);
    const sweeper = sweeperOf(
      due,
      ({ id }) => {
        begun.push(id);
        return hanging;
      },
      { atOnce: 3, ofOneMailbox: 2 },
    );
    const run = new SweeperRun(sweeper, { clock: new ManualClock(), log: silentLog });
    await run.pass();
    await run.pass();
    expect(begun).to.deep.equal(['a', 'b', 'd']);
  });

  it('starts another pass as soon as a task ends while items are due', async () => {
    const due = dueOf(...Array.from({ length: 20 }, (_, at) => item(String(at))));
    const sweeper = sweeperOf(due, () => Promise.resolve('settled'), { everyMs: HOUR_MS, ofOneMailbox: 1 });
    const stop = new AbortController();
    const run = new SweeperRun(sweeper, { clock: systemClock, log: silentLog });
    const running = run.run(stop.signal);
    await eventually(() => due.size === 0);
    stop.abort();
    await running;
  });

  it('retries after the pause of the item, however rare its passes are', async () => {
    const due = dueOf(item('a'));
    let tries = 0;
    const settle = (): Promise<Outcome> => {
      tries += 1;
      if (tries === 2) return Promise.reject(new GatewayError('store_unavailable', 'Away.'));
      return Promise.resolve(tries === 1 ? 'later' : 'settled');
    };
    const row = { everyMs: HOUR_MS, pauses: { firstMs: 5, mostMs: 10 } };
    const stop = new AbortController();
    const running = new SweeperRun(sweeperOf(due, settle, row), { clock: systemClock, log: silentLog }).run(
      stop.signal,
    );
    await eventually(() => due.size === 0);
    stop.abort();
    await running;
    expect(tries).to.equal(3);
  });

  it('continues after a pass that fails', async () => {
    let passes = 0;
    const find = () => {
      passes += 1;
      return passes === 1
        ? Promise.reject(new GatewayError('store_unavailable', 'Away.'))
        : Promise.resolve([item('a')]);
    };
    const settled: string[] = [];
    const sweeper = sweeperOf(
      dueOf(),
      ({ id }) => {
        settled.push(id);
        return Promise.resolve('settled');
      },
      { find, everyMs: 5 },
    );
    const stop = new AbortController();
    const running = new SweeperRun(sweeper, { clock: systemClock, log: silentLog }).run(stop.signal);
    await eventually(() => settled.length > 0);
    stop.abort();
    await running;
  });

  it('ends with its tasks, and leaves no timer that would keep the process alive', async () => {
    let sleeping = 0;
    const clock: Clock = {
      ...systemClock,
      sleep: async (ms, signal) => {
        sleeping += 1;
        await systemClock.sleep(ms, signal);
        sleeping -= 1;
      },
    };
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const stop = new AbortController();
    const run = new SweeperRun(
      sweeperOf(dueOf(item('a')), () => promise),
      { clock, log: silentLog },
    );
    let isOver = false;
    const running = run.run(stop.signal).then(() => {
      isOver = true;
    });
    await eventually(() => !run.isIdle);
    stop.abort();
    await setImmediate();
    expect([isOver, sleeping], 'waits for the task').to.deep.equal([false, 1]);
    resolve('settled');
    await running;
    await setImmediate();
    expect(sleeping).to.equal(0);
  });

  it('measures its tasks, and how long due items have waited', async () => {
    const clock = new ManualClock();
    const metrics = createMetrics();
    const ends: ((outcome: Outcome) => void)[] = [];
    const settle = (): Promise<Outcome> => new Promise((resolve) => ends.push(resolve));
    const due = dueOf(item('a'), item('b'));
    const run = new SweeperRun(sweeperOf(due, settle, { atOnce: 1 }), { clock, log: silentLog, metrics });
    await run.pass();
    clock.advance(61_000);
    expect(run.lagSeconds).to.equal(60);
    ends[0]?.('settled');
    await setImmediate();
    await run.pass();
    ends[1]?.('settled');
    await setImmediate();
    await run.pass();
    expect(run.lagSeconds).to.equal(0);
    const count = 'gateway_sweeper_seconds_count{sweeper="items",outcome="settled"} 2';
    expect(await metrics.text()).to.include(count);
  });
});
