import { expect } from 'chai';
import fc from 'fast-check';
import {
  afterInterruption,
  afterResponse,
  type Following,
} from '../../../../commands/webhooks/next-attempt.ts';
import { WEBHOOK_TIMES } from '../../../support/fakes/memory-webhooks.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const now = new Date('2026-01-01T00:00:00.000Z');
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const STEPS = [
  5 * SECOND,
  300 * SECOND,
  1_800 * SECOND,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

const after = (
  failures: number,
  response: {
    status?: 'succeeded' | 'failed' | 'blocked';
    httpStatus?: number | null;
    retryAfterSeconds?: number;
  } = {},
  chance = 0.5,
): Following =>
  afterResponse(
    { id: 'obx_1', endpointId: 'whk_1', failures },
    { status: 'failed', httpStatus: 500, retryAfterSeconds: null, ...response },
    { times: WEBHOOK_TIMES, now, chance },
  );
const waitOf = ({ next }: Following): number => Date.parse(next?.due_at ?? '') - now.getTime();

describe('what follows an attempt', () => {
  it(`is another one after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, and none after the tenth failure ${verifies('contract:11:retries')}`, () => {
    expect(STEPS.map((_, failures) => waitOf(after(failures)))).to.deep.equal(STEPS);
    expect(after(8).failures).to.equal(9);
    expect(after(9)).to.deep.equal({ failures: 10, next: null, not_before: null });
  });

  it('is up to a fifth earlier or later by chance', () => {
    expect([0, 1].map((chance) => waitOf(after(1, {}, chance)))).to.deep.equal([240 * SECOND, 360 * SECOND]);
  });

  it('is nothing after a success, which counts no failure', () => {
    expect(after(3, { status: 'succeeded', httpStatus: 200 })).to.deep.equal({
      failures: 3,
      next: null,
      not_before: null,
    });
  });

  it('is nothing to a target that is blocked, which counts', () => {
    const blocked = after(0, { status: 'blocked', httpStatus: 307 });
    expect(blocked).to.deep.equal({ failures: 1, next: null, not_before: null });
  });

  it('is the usual one after 410, for an endpoint that was changed meanwhile', () => {
    expect(after(0, { httpStatus: 410 }).next).not.to.equal(null);
  });

  it('waits as long as asked, from the step to twice the step or an hour', () => {
    const wait = (failures: number, retryAfterSeconds: number): number =>
      waitOf(after(failures, { retryAfterSeconds }));
    expect(wait(1, 1)).to.equal(300 * SECOND);
    expect(wait(1, 600)).to.equal(600 * SECOND);
    expect(wait(1, 86_400)).to.equal(HOUR);
    expect(wait(4, 86_400)).to.equal(10 * HOUR);
  });

  it('is a pause for the whole endpoint after 429 and 503 with Retry-After', () => {
    const pause = (httpStatus: number, retryAfterSeconds?: number): string | null =>
      after(1, { httpStatus, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }).not_before;
    expect(pause(429, 600)).to.equal('2026-01-01T00:10:00.000Z');
    expect(pause(503, 600)).to.equal('2026-01-01T00:10:00.000Z');
    expect(pause(500, 600)).to.equal(null);
    expect(pause(503)).to.equal(null);
  });

  it('is at once after an interruption, which counts no failure', () => {
    const following = afterInterruption({ id: 'obx_1', endpointId: 'whk_1', failures: 4 }, now);
    expect(following).to.deep.include({ failures: 4, not_before: null });
    expect(following.next?.due_at).to.equal(now.toISOString());
  });

  it('stays within a fifth of the step unless it is asked for another time', () => {
    fc.assert(
      fc.property(fc.nat(8), fc.float({ min: 0, max: 1, noNaN: true }), (failures, chance) => {
        const step = STEPS[failures] ?? 0;
        expect(waitOf(after(failures, {}, chance))).to.be.within(
          Math.floor(step * 0.8),
          Math.ceil(step * 1.2),
        );
      }),
    );
  });
});
