import { expect } from 'chai';
import { notificationsIn } from '../../../support/samples/notifications-in.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('the mapping of events to webhooks', () => {
  it(`reports every step of a send with an approval, for its mailbox ${verifies('contract:11:event-kinds')}`, async () => {
    const rig = new ApprovedSendRig();
    const draftId = await rig.granted('key-1');
    await rig.commit('key-1');
    const notifications = rig.parts.events.all.flatMap(notificationsIn);
    expect(notifications.map(({ event_type }) => event_type)).to.deep.equal([
      'draft.created',
      'approval.requested',
      'approval.vote_cast',
      'approval.granted',
      'draft.sent',
      'operation.completed',
      'approval.committed',
    ]);
    const operationId = rig.operationId('key-1');
    for (const { event_type, mailbox_id, data } of notifications) {
      expect(mailbox_id, event_type).to.equal('mbx_0');
      if (event_type.startsWith('draft.')) expect(data).to.include({ draft_id: draftId });
      else expect(data).to.include({ operation_id: operationId });
    }
  });
});
