import { expect } from 'chai';
import { checkpointKey } from '../../../../projections/projection.ts';
import { audit } from '../../../../projections/audit.ts';
import { MOST_COUNTED, ProgressWatch } from '../../../../infra/projector/lag.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';

describe('the lag of a read model between two measurements', () => {
  const key = checkpointKey(audit);

  /** So many events wait when it is measured; the last of them was stored 40 s ago. */
  async function measured(waiting: number): Promise<ProgressWatch> {
    const storedAt = (place: number): Date => new Date(Date.now() - 40_000 - (waiting - place) * 1_000);
    const events = Array.from({ length: waiting }, (_, index) => ({
      position: BigInt(index + 1),
      storedAt: storedAt(index + 1),
    }));
    const watch = new ProgressWatch({
      sql: { query: () => Promise.resolve([{ key, position: '0', parked: '0' }]) } as never,
      events: { readAll: () => Promise.resolve(events as never) },
      projections: [audit],
      clock: systemClock,
      log: {} as never,
      seen: () => Promise.resolve(),
    });
    await watch.measure();
    return watch;
  }

  it('is the age of the first event that is not applied', async () => {
    const [model] = (await measured(30)).status(new Map([[key, 20n]]));
    expect(model?.lagEvents).to.equal(10);
    expect(model?.lagSeconds).to.be.within(49, 50);
  });

  it('is over when all that waited are applied', async () => {
    const [model] = (await measured(30)).status(new Map([[key, 30n]]));
    expect(model).to.include({ lagEvents: 0, lagSeconds: 0 });
  });

  it('is at most the age of the last event counted when more wait than were counted', async () => {
    const [model] = (await measured(MOST_COUNTED)).status(new Map([[key, BigInt(MOST_COUNTED)]]));
    expect(model?.lagSeconds).to.be.within(40, 41);
  });
});
