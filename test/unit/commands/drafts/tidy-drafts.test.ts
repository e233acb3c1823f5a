import { expect } from 'chai';
import { discardOrphans, eraseLeftContent } from '../../../../commands/drafts/tidy-drafts.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

describe('what is left of drafts', () => {
  it('goes with a removed mailbox, but for what is being sent', async () => {
    const rig = new SendRig();
    const [open, sending] = [await rig.startDraft(), await rig.startDraft()];
    await rig.append(sending, { type: 'DraftFrozen', data: SAMPLE_EVENTS.DraftFrozen });
    await rig.append(sending, { type: 'SendStarted', data: SAMPLE_EVENTS.SendStarted });
    const orphans = [sending, open].map((draftId) => ({ draftId, orgId: 'org_1' }));
    await discardOrphans(rig.ports, orphans);
    await discardOrphans(rig.ports, orphans);
    expect((await rig.draft(open)).status).to.equal('discarded');
    expect((await rig.draft(sending)).status).to.equal('sending');
    expect(await rig.ports.events.readStream(`draft-${open}`)).to.have.length(2);
  });

  it('is erased with a discarded draft, and with no other', async () => {
    const rig = new SendRig();
    const [gone, kept] = [await rig.startDraft(), await rig.startDraft()];
    const bodyOf = async (id: string): Promise<string> => (await rig.draft(id)).current?.content_id ?? '';
    await eraseLeftContent(rig.ports, [gone]);
    expect(await rig.ports.content.describe(await bodyOf(gone))).to.equal(null);
    expect(await rig.ports.content.describe(await bodyOf(kept))).not.to.equal(null);
  });
});
