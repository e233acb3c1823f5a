import { expect } from 'chai';
import { MailboxChangesObserved } from '../../../../commands/feed/feed-events.ts';
import { webhookEndpoint } from '../../../../commands/webhooks/endpoint.ts';
import { isSubscribed, notificationsOf, type Subscriber } from '../../../../commands/webhooks/match-event.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const meta = { org_id: 'org_a', occurred_at: '2026-01-01T00:00:00.000Z' } as never;
const change = { kind: 'received' as const, locator: 'msg_1', flags: ['\\Flagged'] };
const data = {
  mailbox_id: 'mbx_1',
  folder: 3,
  uid_validity: 7,
  changes: [change, { ...change, kind: 'deleted' as const, locator: 'msg_2', flags: [] }],
};
const event = {
  id: '00000000-0000-5000-8000-000000000001',
  streamName: 'mailFeed-mbx_1-20260101',
  revision: 0n,
};

const subscriber = (state: Partial<Subscriber['state']>): Subscriber => ({
  id: 'whk_1',
  orgId: 'org_a',
  lastSequence: 0,
  state: { ...webhookEndpoint.initial, version: 1, eventTypes: ['*'], mailboxIds: ['*'], ...state },
});
const received = { event_type: 'message.received' as const, mailbox_id: 'mbx_1' };

describe('notificationsOf', () => {
  const { webhook } = MailboxChangesObserved;

  it(`gives each change of an event its own webhook-id, the same every time ${verifies('contract:11:webhook-id')}`, () => {
    if (webhook === null) throw new Error('the feed is not published');
    const first = notificationsOf(event, { data, meta }, webhook);
    expect(first.map(({ event_type }) => event_type)).to.deep.equal(['message.received', 'message.deleted']);
    expect(first[0]).to.deep.include({
      mailbox_id: 'mbx_1',
      folders: [3],
      data: { mailbox_id: 'mbx_1', message_id: 'msg_1', flags: ['\\Flagged'] },
    });
    expect(new Set(first.map(({ event_id }) => event_id)).size).to.equal(2);
    expect(notificationsOf(event, { data, meta }, webhook)).to.deep.equal(first);
  });
});

describe('isSubscribed', () => {
  it('matches by organisation, event type and mailbox', () => {
    const matches = (state: Partial<Subscriber['state']>, orgId = 'org_a'): boolean =>
      isSubscribed(subscriber(state), orgId, received);
    expect(matches({})).to.equal(true);
    expect(matches({}, 'org_b')).to.equal(false);
    expect(matches({ eventTypes: ['message.received'], mailboxIds: ['mbx_1'] })).to.equal(true);
    expect(matches({ eventTypes: ['message.deleted'] })).to.equal(false);
    expect(matches({ mailboxIds: [] })).to.equal(false);
    expect(matches({ mailboxIds: ['mbx_2'] })).to.equal(false);
  });

  it('needs no mailbox for an event of the organisation', () => {
    const revoked = { event_type: 'token.revoked' as const, mailbox_id: null };
    expect(isSubscribed(subscriber({ mailboxIds: [] }), 'org_a', revoked)).to.equal(true);
  });

  it('matches a paused endpoint, and none that is disabled or not created yet', () => {
    expect(isSubscribed(subscriber({ status: 'paused' }), 'org_a', received)).to.equal(true);
    expect(isSubscribed(subscriber({ status: 'disabled' }), 'org_a', received)).to.equal(false);
    expect(isSubscribed(subscriber({ version: 0 }), 'org_a', received)).to.equal(false);
  });
});
