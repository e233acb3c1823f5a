import type { EndpointHealth } from '../../../../commands/ports/webhook-records.ts';
import { expect } from 'chai';
import { healthAfter, NEW_HEALTH } from '../../../../commands/webhooks/endpoint-health.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const MINUTE = 60_000;
const START = Date.parse('2026-01-01T00:00:00.000Z');
const at = (ms: number): string => new Date(START + ms).toISOString();

type Changes = Partial<(typeof SAMPLE_EVENTS)['WebhookDeliveryEnded']>;
const after = (health: EndpointHealth, ms: number, changes: Changes = {}): EndpointHealth =>
  healthAfter(health, { ...SAMPLE_EVENTS.WebhookDeliveryEnded, started_at: at(ms), ...changes }, at(ms));
const failures = (count: number, health: EndpointHealth = NEW_HEALTH): EndpointHealth =>
  Array.from({ length: count }).reduce<EndpointHealth>((now, _, index) => after(now, index), health);

describe('healthAfter', () => {
  it(`rests for 30 s after ten failures in a row, and twice as long after each failed probe ${verifies('contract:11:rests')}`, () => {
    expect(failures(9).notBefore).to.equal(null);
    let health = failures(10);
    expect(health.notBefore).to.equal(at(9 + MINUTE / 2));
    const rests = [MINUTE, 2 * MINUTE, 4 * MINUTE, 8 * MINUTE, 15 * MINUTE, 15 * MINUTE];
    for (const rest of rests) {
      const probe = Date.parse(health.notBefore ?? '') - START;
      health = after(health, probe);
      expect(health.notBefore).to.equal(at(probe + rest));
    }
  });

  it('does not rest longer when attempts that were under way fail too', () => {
    expect(failures(64).notBefore).to.equal(failures(10).notBefore);
  });

  it('forgets the failures after a success', () => {
    const health = after(failures(12), MINUTE, { status: 'succeeded' });
    expect(health).to.deep.equal({ ...NEW_HEALTH, lastSuccessAt: at(MINUTE), lastFailureAt: at(11) });
  });

  it('counts neither an interrupted nor a cancelled attempt', () => {
    for (const status of ['interrupted', 'cancelled'] as const)
      expect(after(NEW_HEALTH, 0, { status })).to.deep.equal(NEW_HEALTH);
  });

  it('waits as long as the endpoint asks for', () => {
    expect(after(NEW_HEALTH, 0, { not_before: at(MINUTE) }).notBefore).to.equal(at(MINUTE));
  });
});
