import { expect } from 'chai';
import { discardDraftCapability } from '../../../../commands/drafts/discard-draft.ts';
import { editDraftCapability, patchDraftCapability } from '../../../../commands/drafts/edit-draft.ts';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { Draft } from '../../../../commands/operations/draft-shape.ts';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import type { Outcome } from '../../../../commands/kernel/invoke-capability.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** Thrown in place of a process that dies: it is no refusal, and nothing is recorded. */
const CRASH = new Error('the process was killed');

const NOTES = {
  filename: 'notes.txt',
  content_type: 'text/plain',
  content_base64: Buffer.from('notes').toString('base64'),
};

describe('an interrupted change of a draft', () => {
  let rig: SendRig;
  let draftId: string;

  beforeEach(async () => {
    rig = new SendRig();
    draftId = await rig.startDraft();
  });

  /** The process dies right before it writes an event of this type. */
  const cutBefore = async (type: string, capability: Capability, input: object): Promise<void> => {
    const { events } = rig.ports;
    const append = events.append.bind(events);
    events.append = (stream, expected, written) =>
      written[0]?.type === type ? Promise.reject(CRASH) : append(stream, expected, written);
    expect(await rejection(rig.invoke(capability, input, 'key-1'))).to.equal(CRASH);
    events.append = append;
  };
  const again = (capability: Capability, input: object): Promise<Outcome> =>
    rig.invoke(capability, input, 'key-1', rig.newRun());
  const claim = () => rig.typesOf(`operation-${rig.operationId('key-1')}`);
  const history = () => rig.typesOf(`draft-${draftId}`);

  const whole = () => ({
    draft_id: draftId,
    to: ['dora@example.org'],
    cc: [],
    bcc: [],
    subject: 'First',
    text: 'First.',
    attachments: [],
  });

  const CHANGES: readonly (readonly [string, Capability, () => object])[] = [
    [
      'an edit of the version it names',
      editDraftCapability,
      () => ({ ...whole(), expected_version: 1, attachments: [NOTES] }),
    ],
    [
      'a patch that adds a file',
      patchDraftCapability,
      () => ({ draft_id: draftId, attachments: { add: [NOTES] } }),
    ],
    [
      'a patch by email.act',
      actOnEmail,
      () => ({
        mailbox_id: 'mbx_0',
        operation: {
          type: 'draft_edit',
          draft_id: draftId,
          expected_version: 1,
          patch: { attachments: { add: [NOTES] } },
        },
      }),
    ],
  ];

  const draftOf = ({ output }: Outcome): Draft =>
    'draft' in (output as object) ? (output as { draft: Draft }).draft : (output as Draft);

  for (const [what, capability, input] of CHANGES) {
    it(`is not made twice by a repeat: ${what} ${verifies('contract:14:draft-change-once')}`, async () => {
      await cutBefore('RequestSettled', capability, input());
      expect(await claim()).to.deep.equal(['RequestClaimed']);
      for (const repeat of [await again(capability, input()), await again(capability, input())]) {
        expect(repeat.replayed).to.equal(true);
        const { version, attachments } = draftOf(repeat);
        expect({ version, files: attachments.map(({ filename }) => filename) }).to.deep.equal({
          version: 2,
          files: ['notes.txt'],
        });
      }
      expect(await history()).to.deep.equal(['DraftStarted', 'DraftEdited']);
      expect(await claim()).to.deep.equal(['RequestClaimed', 'RequestSettled']);
    });

    it(`is made by a repeat when it was not made yet: ${what}`, async () => {
      await cutBefore('DraftEdited', capability, input());
      const repeat = await again(capability, input());
      expect(repeat.replayed).to.equal(false);
      expect(draftOf(repeat)).to.include({ version: 2 });
      expect(await history()).to.deep.equal(['DraftStarted', 'DraftEdited']);
    });
  }

  it(`is not repeated over a newer change of another caller ${verifies('contract:14:draft-change-once')}`, async () => {
    const input = whole();
    await cutBefore('RequestSettled', editDraftCapability, input);
    await rig.edit(draftId);
    expect((await again(editDraftCapability, input)).output).to.include({ version: 3, subject: 'Version 3' });
    expect(await history()).to.deep.equal(['DraftStarted', 'DraftEdited', 'DraftEdited']);
  });

  it('answers as a discard when the draft was discarded', async () => {
    const input = { draft_id: draftId, expected_version: 1 };
    await cutBefore('RequestSettled', discardDraftCapability, input);
    const repeat = await again(discardDraftCapability, input);
    expect(repeat.replayed).to.equal(true);
    expect(repeat.output).to.include({ status: 'discarded' });
    expect(await claim()).to.deep.equal(['RequestClaimed', 'RequestSettled']);
  });

  it('is refused and recorded when another caller changed the draft first', async () => {
    const input = { ...whole(), expected_version: 1 };
    await cutBefore('DraftEdited', editDraftCapability, input);
    await rig.edit(draftId);
    for (const replayed of [false, true]) {
      expect(await rejection(again(editDraftCapability, input))).to.include({
        code: 'version_conflict',
        replayed,
      });
    }
    expect(await history()).to.deep.equal(['DraftStarted', 'DraftEdited']);
  });
});

describe('a change of a draft with an outdated version', () => {
  it(`is refused before its key is claimed, so that the key stays free ${verifies('contract:14:refused-frees')}`, async () => {
    const rig = new SendRig();
    const draft_id = await rig.startDraft();
    await rig.edit(draft_id);
    const patch = { draft_id, subject: 'Mine', expected_version: 1 };
    const edit = { ...patch, to: [], cc: [], bcc: [], text: '', attachments: [] };
    for (const [capability, input] of [[patchDraftCapability, patch], [editDraftCapability, edit]] as const) {
      const refused = await rejection(rig.invoke(capability, input, 'key-1'));
      expect(refused).to.include({ code: 'version_conflict', replayed: false });
      expect(await rig.typesOf(`operation-${rig.operationId('key-1')}`)).to.deep.equal([]);
    }
    const { output } = await rig.invoke(patchDraftCapability, { ...patch, expected_version: 2 }, 'key-1');
    expect(output).to.include({ version: 3, subject: 'Mine' });
  });
}); // prettier-ignore
