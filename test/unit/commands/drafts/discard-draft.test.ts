import { expect } from 'chai';
import { discardDraftCapability, discardOrphan } from '../../../../commands/drafts/discard-draft.ts';
import type { Directory } from '../../../../commands/ports/directory.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { becomingCurrent, OUTDATED, SendRig } from '../../../support/worlds/send-rig.ts';

describe('discard_draft', () => {
  it('waits until this process can lack no legal hold, and refuses while it may', async () => {
    const rig = new SendRig();
    const draft_id = await rig.startDraft();
    const { directory } = rig.ports;
    const discardWith = (known: Directory) =>
      rig.invoke(discardDraftCapability, { draft_id }, 'key', { ...rig.ports, directory: known });
    expect(await rejection(discardWith({ ...directory, ...OUTDATED }))).to.include({
      code: 'store_unavailable',
    });
    expect((await rig.draft(draft_id)).status).to.equal('open');
    await discardWith(becomingCurrent(directory));
    expect((await rig.draft(draft_id)).status).to.equal('discarded');
  });
});

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
