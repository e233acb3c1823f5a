import { expect } from 'chai';
import fc from 'fast-check';
import { appendFacts } from '../../../../commands/kernel/decide-and-append.ts';
import { loadAsOf, momentAsOf } from '../../../../read-api/paging/as-of.ts';
import { policy } from '../../../../commands/policy/policy-events.ts';
import { randomIds, sampleAuthor } from '../../../support/samples/event-author.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { thrown } from '../../../support/suite/thrown.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const at = (millisecond: number): Date => new Date(START + millisecond);

const EMPTY = { internal_domains: [], custom_headers: [], rules: [], default: null };

/** A policy whose versions were set at these milliseconds, in this order. */
async function setAt(milliseconds: readonly number[]): Promise<MemoryEventStore> {
  const events = new MemoryEventStore();
  for (const [index, millisecond] of milliseconds.entries()) {
    await appendFacts({ events, ids: randomIds, clock: new ManualClock() }, sampleAuthor('org_a'), {
      stream: 'policy-org_a',
      expected: index === 0 ? 'no-stream' : BigInt(index - 1),
      catalogue: policy.catalogue,
      facts: [{ type: 'PolicySet', data: { ...EMPTY, version: index + 1 } }],
      occurredAt: at(millisecond),
    });
  }
  return events;
}

const versionAt = async (events: MemoryEventStore, asOf: Date | null): Promise<number | null> =>
  (await loadAsOf(events, policy, 'org_a', asOf))?.version ?? null;

describe('as_of', () => {
  it(`includes events up to that moment, to the millisecond ${verifies('contract:17:as-of')}`, async () => {
    const events = await setAt([10, 20, 30]);
    const told = await Promise.all([9, 10, 19, 20, 29, 30, 99].map((ms) => versionAt(events, at(ms))));
    expect(told).to.deep.equal([null, 1, 1, 2, 2, 3, 3]);
    expect(await versionAt(events, null)).to.equal(3);
    expect(await versionAt(new MemoryEventStore(), null)).to.equal(null);
  });

  it('returns a state that existed, even when clocks differ', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(20), { minLength: 1, maxLength: 8 }),
        fc.nat(21),
        async (milliseconds, asked) => {
          const version = (await versionAt(await setAt(milliseconds), at(asked))) ?? 0;
          expect(milliseconds.slice(0, version).every((ms) => ms <= asked)).to.equal(true);
          expect(milliseconds[version] ?? Infinity).to.be.greaterThan(asked);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('refuses a moment in the future', () => {
    const clock = new ManualClock('2026-03-01T12:00:00.000Z');
    expect(momentAsOf(clock, undefined)).to.equal(null);
    expect(momentAsOf(clock, '2026-03-01T13:00:00+01:00')).to.deep.equal(at(0));
    const refused = thrown(() => momentAsOf(clock, '2026-03-01T12:00:00.001Z'));
    expect(refused).to.deep.include({
      code: 'invalid_request',
      details: { issues: [{ path: 'as_of', code: 'custom', message: 'This moment is still to come.' }] },
    });
  });
});
