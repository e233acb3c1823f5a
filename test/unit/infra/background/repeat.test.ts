import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { Lane } from '../../../../infra/background/lane.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

const HOUR_MS = 3_600_000;

describe('pauses after a failure', () => {
  it('last as long whether the time of day is set back or ahead', async () => {
    for (const stepMs of [-HOUR_MS, HOUR_MS]) {
      const clock = new ManualClock();
      const lane = new Lane({ atOnce: 2, clock, log: silentLog });
      lane.begin({ operationId: 'opn_1', mailboxId: 'mbx_1' }, () => Promise.resolve(false));
      await setImmediate();
      clock.step(stepMs);
      expect(lane.taken, 'at once').to.deep.equal(['opn_1']);
      clock.advance(1_200);
      expect(lane.taken, 'after the pause').to.deep.equal([]);
    }
  });
});
