import { expect } from 'chai';
import type { Clock, Ports } from '../../../../commands/ports/ports.ts';
import { runSendWorker } from '../../../../infra/background/send-worker.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { ScriptedSql } from '../../../support/fakes/scripted-sql.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

describe('the worker that goes on with sends', () => {
  it('leaves no timer behind that would keep the process alive', async () => {
    const sql = new ScriptedSql();
    sql.rows.set('read.send', []);
    let sleeping = 0;
    const clock: Clock = {
      ...systemClock,
      sleep: async (ms, signal) => {
        sleeping += 1;
        await systemClock.sleep(ms, signal);
        sleeping -= 1;
      },
    };
    const stopping = new AbortController();
    const worker = runSendWorker({ sql, clock, log: silentLog } as unknown as Ports, stopping.signal);
    await new Promise((resolve) => setImmediate(resolve));
    expect(sleeping).to.equal(1);
    stopping.abort();
    await worker;
    await new Promise((resolve) => setImmediate(resolve));
    expect(sleeping).to.equal(0);
  });
});
