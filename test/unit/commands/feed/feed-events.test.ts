import { expect } from 'chai';
import { type FeedChange, MailboxChangesObserved } from '../../../../commands/feed/feed-events.ts';
import type { Notification } from '../../../../commands/values/webhook-event.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const told = (change: Partial<FeedChange>): Notification | null | undefined => {
  const changes = [{ kind: 'received' as const, locator: 'msg_1', flags: [], ...change }];
  const data = { mailbox_id: 'mbx_1', folder: 3, uid_validity: 7, changes };
  return MailboxChangesObserved.webhook?.notify({
    data,
    meta: { actor: { type: 'system', id: 'gateway' } },
    subject: 'mbx_1-20260101',
    revision: 0n,
  })[0];
};

describe('MailboxChangesObserved', () => {
  it(`reports what the gateway did with its operation, never as received ${verifies('contract:11:event-kinds')}`, () => {
    expect(told({})?.type).to.equal('message.received');
    expect(told({ operation_id: 'opn_1' })).to.deep.include({
      type: 'message.updated',
      data: { mailbox_id: 'mbx_1', message_id: 'msg_1', flags: [], operation_id: 'opn_1' },
    });
    expect(told({ kind: 'moved', operation_id: 'opn_1', previous: 'msg_0' })?.data).to.deep.equal({
      mailbox_id: 'mbx_1',
      message_id: 'msg_1',
      flags: [],
      operation_id: 'opn_1',
      previous_message_id: 'msg_0',
    });
  });

  it('names every folder that holds the message', () => {
    expect(told({ also_in: [5, 6] })?.folders).to.deep.equal([3, 5, 6]);
  });
});
