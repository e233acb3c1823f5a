import { expect } from 'chai';
import { RateLimits } from '../../../../read-api/http/rate-limits.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { thrown } from '../../../support/suite/thrown.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const LIMITS = {
  readsPerMinute: 6,
  writesPerMinute: 2,
  concurrentRequests: 3,
  concurrentWaits: 2,
  providerConnections: 4,
  jsonBodyBytes: 1_000,
  mcpResultBytes: 1_000,
  sendsPerHour: 30,
  signInsPerMinute: 10,
};

describe('RateLimits', () => {
  let clock: ManualClock;
  let limits: RateLimits;

  beforeEach(() => {
    clock = new ManualClock();
    limits = new RateLimits(LIMITS, clock);
  });

  const admitDone = (tokenId: string, effect: 'read' | 'write'): void => {
    limits.admit(tokenId, effect)();
  };

  it(`admits a minute's worth at once, then one by one ${verifies('contract:15:rates')}`, () => {
    for (let n = 0; n < 6; n += 1) admitDone('tok_1', 'read');
    expect(thrown(() => limits.admit('tok_1', 'read'))).to.deep.include({
      code: 'rate_limited',
      retryAfterSeconds: 10,
      details: { limit: 'reads_per_minute' },
    });
    clock.advance(9_999);
    expect(thrown(() => limits.admit('tok_1', 'read'))).to.include({ retryAfterSeconds: 1 });
    clock.advance(1);
    admitDone('tok_1', 'read');
    expect(thrown(() => limits.admit('tok_1', 'read'))).to.include({ code: 'rate_limited' });
  });

  it('names the exact wait', () => {
    for (let n = 0; n < 2; n += 1) admitDone('tok_1', 'write');
    clock.advance(12_345);
    const { retryAfterSeconds = 0 } = thrown(() => limits.admit('tok_1', 'write'));
    clock.advance(retryAfterSeconds * 1_000);
    admitDone('tok_1', 'write');
  });

  it(`uses a monotonic clock ${verifies('contract:15:monotonic')}`, () => {
    for (let n = 0; n < 6; n += 1) admitDone('tok_1', 'read');
    clock.step(-3_600_000);
    clock.advance(10_000);
    admitDone('tok_1', 'read');
    expect(thrown(() => limits.admit('tok_1', 'read'))).to.include({ retryAfterSeconds: 10 });
    clock.step(7_200_000);
    expect(thrown(() => limits.admit('tok_1', 'read'))).to.include({ retryAfterSeconds: 10 });
  });

  it('counts reads, writes and tokens separately', () => {
    for (let n = 0; n < 2; n += 1) admitDone('tok_1', 'write');
    expect(thrown(() => limits.admit('tok_1', 'write'))).to.deep.include({
      details: { limit: 'writes_per_minute' },
    });
    admitDone('tok_1', 'read');
    admitDone('tok_2', 'write');
  });

  it('never saves up more than a minute', () => {
    clock.advance(3_600_000);
    for (let n = 0; n < 6; n += 1) admitDone('tok_1', 'read');
    clock.advance(3_600_000);
    for (let n = 0; n < 6; n += 1) admitDone('tok_1', 'read');
    expect(thrown(() => limits.admit('tok_1', 'read'))).to.include({ code: 'rate_limited' });
  });

  it('limits concurrent requests, and counts each end once', () => {
    const releases = [1, 2, 3].map(() => limits.admit('tok_1', 'read'));
    expect(thrown(() => limits.admit('tok_1', 'read'))).to.deep.include({
      code: 'rate_limited',
      retryAfterSeconds: 1,
      details: { limit: 'concurrent_requests' },
    });
    for (let n = 0; n < 3; n += 1) releases[0]?.();
    limits.admit('tok_1', 'read');
    expect(thrown(() => limits.admit('tok_1', 'read'))).to.deep.include({
      details: { limit: 'concurrent_requests' },
    });
  });

  it('charges nothing for a request over the concurrency limit', () => {
    [1, 2, 3].map(() => limits.admit('tok_1', 'read'));
    const before = limits.headers('tok_1', 'read');
    expect(thrown(() => limits.admit('tok_1', 'read'))).to.include({ code: 'rate_limited' });
    expect(limits.headers('tok_1', 'read')).to.deep.equal(before);
  });

  it('counts an effect that is known only later', () => {
    limits.count('tok_1', 'write');
    limits.count('tok_1', 'write');
    expect(
      thrown(() => {
        limits.count('tok_1', 'write');
      }),
    ).to.include({ code: 'rate_limited', retryAfterSeconds: 30 });
  });

  it(`reports what is left and when the limit is full again ${verifies('contract:15:headers')}`, () => {
    expect(limits.headers('tok_1', 'read')).to.deep.equal({
      'RateLimit-Policy': '"reads";q=6;w=60',
      RateLimit: '"reads";r=6;t=0',
    });
    admitDone('tok_1', 'read');
    admitDone('tok_1', 'read');
    expect(limits.headers('tok_1', 'read')).to.include({ RateLimit: '"reads";r=4;t=20' });
    clock.advance(5_000);
    expect(limits.headers('tok_1', 'read')).to.include({ RateLimit: '"reads";r=4;t=15' });
    expect(limits.headers('tok_1', 'write')).to.include({ RateLimit: '"writes";r=2;t=0' });
  });

  it('remembers requests that run, however long they take', () => {
    const releases = [1, 2, 3].map(() => limits.admit('slow', 'read'));
    clock.advance(600_000);
    admitDone('tok_2', 'read');
    expect(thrown(() => limits.admit('slow', 'read'))).to.deep.include({
      details: { limit: 'concurrent_requests' },
    });
    for (const release of releases) release();
    admitDone('slow', 'read');
  });

  it(`counts waits separately from running requests, and frees each place once ${verifies('contract:15:waits')}`, () => {
    const ends = [limits.wait('tok_1'), limits.wait('tok_1')];
    expect(thrown(() => limits.wait('tok_1'))).to.deep.include({
      code: 'rate_limited',
      details: { limit: 'concurrent_waits' },
    });
    limits.wait('tok_2')();
    for (let running = 0; running < 3; running += 1) limits.admit('tok_1', 'read');
    ends[0]?.();
    ends[0]?.();
    limits.wait('tok_1');
    expect(thrown(() => limits.wait('tok_1'))).to.include({ code: 'rate_limited' });
  });
});
