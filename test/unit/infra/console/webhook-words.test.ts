import { join } from 'node:path';
import { expect } from 'chai';
import { TEST_EVENT_TYPE, WEBHOOK_EVENT_TYPES } from '../../../../commands/values/webhook-event.ts';
import { DELIVERY_STATUSES } from '../../../../commands/webhooks/delivery-payload.ts';
import { DELIVERY_ERRORS } from '../../../../commands/values/webhook-event.ts';
import { ENDPOINT_STATUSES } from '../../../../commands/webhooks/endpoint.ts';

interface Events {
  readonly EVENT_GROUPS: readonly { events: readonly (readonly [type: string, about: string])[] }[];
  readonly TEST_EVENT: string;
}
interface Wording {
  readonly ENDPOINT_STATUSES: Readonly<Record<string, unknown>>;
  readonly DELIVERY_STATUSES: Readonly<Record<string, unknown>>;
  errorOf(delivery: { error: { code: string } | null }): { why: string; next: string } | null;
}

const moduleOf = (name: string): string => join(import.meta.dirname, '../../../../infra/console', name);

describe('wording of webhooks in the console', () => {
  let events: Events;
  let wording: Wording;
  before(async () => {
    events = (await import(moduleOf('webhook-events.js'))) as Events;
    wording = (await import(moduleOf('webhook-wording.js'))) as Wording;
  });

  it('offers every event type once', () => {
    const offered = events.EVENT_GROUPS.flatMap((group) => group.events.map(([type]) => type));
    expect(offered).to.deep.equal([...WEBHOOK_EVENT_TYPES]);
    expect(events.TEST_EVENT).to.equal(TEST_EVENT_TYPE);
  });

  it('names every status', () => {
    expect(Object.keys(wording.ENDPOINT_STATUSES)).to.have.members([...ENDPOINT_STATUSES]);
    expect(Object.keys(wording.DELIVERY_STATUSES)).to.deep.equal([...DELIVERY_STATUSES]);
  });

  it('explains every error without its code', () => {
    const unknown = wording.errorOf({ error: { code: 'unheard_of' } });
    for (const code of DELIVERY_ERRORS) {
      const told = wording.errorOf({ error: { code } });
      expect(told?.why, code).not.to.equal(unknown?.why);
      expect(`${told?.why ?? ''} ${told?.next ?? ''}`, code).not.to.contain('_');
    }
    expect(wording.errorOf({ error: null })).to.equal(null);
  });
});
