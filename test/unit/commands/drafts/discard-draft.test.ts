import { expect } from 'chai';
import { discardOrphan } from '../../../../commands/drafts/discard-draft.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

describe('discardOrphan', () => {
  it('discards the draft of a removed mailbox unless it is being sent', async () => {
    const rig = new SendRig();
    const [open, sending] = [await rig.startDraft(), await rig.startDraft()];
    await rig.append(sending, { type: 'DraftFrozen', data: SAMPLE_EVENTS.DraftFrozen });
    await rig.append(sending, { type: 'SendStarted', data: SAMPLE_EVENTS.SendStarted });
    const orphans = [sending, open].map((draftId) => ({ draftId, orgId: 'org_1' }));
    for (const orphan of [...orphans, ...orphans]) await discardOrphan(rig.ports, orphan);
    expect((await rig.draft(open)).status).to.equal('discarded');
    expect((await rig.draft(sending)).status).to.equal('sending');
    expect(await rig.ports.events.readStream(`draft-${open}`)).to.have.length(2);
  });
});
