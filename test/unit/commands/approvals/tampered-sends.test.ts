/** Changes between approval and commit of a send: exactly the approved message is sent, or none and the refusal says why. */
import { expect } from 'chai';
import { discardDraftCapability } from '../../../../commands/drafts/discard-draft.ts';
import { patchDraftCapability } from '../../../../commands/drafts/edit-draft.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { MailboxEntry } from '../../../../commands/ports/directory.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { rewritten } from '../../../support/fakes/rewritten-events.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const KEY = 'key-1';

interface Scene {
  readonly rig: ApprovedSendRig;
  readonly draftId: string;
  readonly operationStream: string;
}

async function approved(): Promise<Scene> {
  const rig = new ApprovedSendRig();
  const draftId = await rig.granted(KEY);
  return { rig, draftId, operationStream: `operation-${rig.operationId(KEY)}` };
}

const frozenOf = async ({ rig, draftId }: Scene) => {
  const frozen = (await rig.draft(draftId)).send?.frozen;
  if (!frozen) throw new Error('nothing is frozen');
  return frozen;
};

/** Changes the frozen message in the draft's stream. */
const inFrozen = (
  { rig, draftId }: Scene,
  change: (data: Readonly<Record<string, unknown>>) => object,
): void => {
  rewritten(rig.parts.events, `draft-${draftId}`, 'DraftFrozen', (data) => ({ ...data, ...change(data) }));
};

const inManifest = ({ rig, operationStream }: Scene, from: string, to: string): void => {
  rewritten(rig.parts.events, operationStream, 'ApprovalRequested', (data) => {
    const manifest = String(data['manifest']).replaceAll(from, to);
    expect(manifest, 'something was exchanged').not.to.equal(data['manifest']);
    return { ...data, manifest };
  });
};

const policyOf = (then: object) => [{ id: 'required', when: { actions: ['send'] }, then }];

interface Tampering {
  readonly change: (scene: Scene) => unknown;
  readonly code: string;
  readonly event: string;
  readonly reason?: string;
}

const MISMATCH = { code: 'approval_invalidated', event: 'ApprovalInvalidated', reason: 'manifest_mismatch' };
const STRICTER = { code: 'approval_invalidated', event: 'ApprovalInvalidated', reason: 'policy_stricter' };

const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  'the stored message was replaced': {
    change: async (scene) =>
      scene.rig.content.replace((await frozenOf(scene)).mime_id, 'From: eve\r\n\r\nother'),
    ...MISMATCH,
  },
  'the stored message was erased': {
    change: async (scene) => scene.rig.content.erase([(await frozenOf(scene)).mime_id]),
    ...MISMATCH,
  },
  'the hash of the frozen message was replaced': {
    change: (scene) => {
      inFrozen(scene, () => ({ mime_sha256: 'f'.repeat(64) }));
    },
    ...MISMATCH,
  },
  'a recipient of the envelope was replaced': {
    change: (scene) => {
      inFrozen(scene, ({ smtp_envelope }) => ({
        smtp_envelope: String(smtp_envelope).replace('bob@', 'eve@'),
      }));
    },
    ...MISMATCH,
  },
  'a recipient was added to the envelope': {
    change: (scene) => {
      inFrozen(scene, ({ smtp_envelope }) => ({
        smtp_envelope: String(smtp_envelope).replace(']', ',"eve@example.org"]'),
      }));
    },
    ...MISMATCH,
  },
  'the sender of the envelope was replaced': {
    change: (scene) => {
      inFrozen(scene, ({ smtp_envelope }) => ({
        smtp_envelope: String(smtp_envelope).replace('anna@', 'eve@'),
      }));
    },
    ...MISMATCH,
  },
  'a recipient in the manifest was replaced': {
    change: (scene) => {
      inManifest(scene, 'bob@example.org', 'eve@example.org');
    },
    ...MISMATCH,
  },
  'the hash of the message in the manifest was replaced': {
    change: (scene) => {
      inManifest(scene, '"mime_sha256":"', '"mime_sha256":"0');
    },
    ...MISMATCH,
  },
  'policy denies it now': {
    change: ({ rig }) => {
      rig.setPolicy(policyOf({ decision: 'deny' }));
    },
    ...STRICTER,
  },
  'policy requires two approvals now': {
    change: ({ rig }) => {
      rig.setPolicy(policyOf({ decision: 'require', quorum: 2 }));
    },
    ...STRICTER,
  },
  'policy denies that recipient now': {
    change: ({ rig }) => {
      rig.setPolicy([
        {
          id: 'no',
          when: { actions: ['send'], recipient_domains: ['example.org'] },
          then: { decision: 'deny' },
        },
        ...policyOf({ decision: 'require' }),
      ]);
    },
    ...STRICTER,
  },
  'the draft was edited': {
    change: ({ rig, draftId }) =>
      rig.invoke(patchDraftCapability, { draft_id: draftId, subject: 'Other' }, 'edit'),
    code: 'approval_invalidated',
    event: 'ApprovalSuperseded',
  },
  'a recipient was added to the draft': {
    change: ({ rig, draftId }) =>
      rig.invoke(patchDraftCapability, { draft_id: draftId, to: ['eve@example.org'] }, 'edit'),
    code: 'approval_invalidated',
    event: 'ApprovalSuperseded',
  },
  'an attachment was added to the draft': {
    change: ({ rig, draftId }) =>
      rig.invoke(
        patchDraftCapability,
        { draft_id: draftId, attachments: { add: [{ filename: 'a.txt', content_base64: 'aGk=' }] } },
        'edit',
      ),
    code: 'approval_invalidated',
    event: 'ApprovalSuperseded',
  },
  'the draft was discarded': {
    change: ({ rig, draftId }) => rig.invoke(discardDraftCapability, { draft_id: draftId }, 'discard'),
    code: 'approval_invalidated',
    event: 'ApprovalInvalidated',
    reason: 'draft_discarded',
  },
  'the mailbox was removed': {
    change: ({ rig }) => {
      const mailboxes = rig.ports.directory.state.mailboxes as Map<string, MailboxEntry>;
      const entry = mailboxes.get('mbx_0');
      if (entry) mailboxes.set(entry.id, { ...entry, state: 'removed' });
    },
    code: 'approval_invalidated',
    event: 'ApprovalInvalidated',
    reason: 'mailbox_removed',
  },
};

describe(`an approved send ${verifies('contract:9:commit-checks', 'contract:10:invalidated')}`, () => {
  it('sends the frozen bytes when nothing was tampered with', async () => {
    const scene = await approved();
    const frozen = await frozenOf(scene);
    await scene.rig.commit(KEY);
    const [sent] = scene.rig.submission.taken;
    expect(sent?.raw.replace(/^Date: [^\r]*\r\n/, '')).to.have.length(frozen.mime_size);
    expect(sent?.envelope.to).to.deep.equal(['bob@example.org']);
  });

  for (const [name, { change, code, event, reason }] of Object.entries(TAMPERINGS)) {
    it(`does not run when ${name}, and says why in answer and event`, async () => {
      const scene = await approved();
      const { rig, operationStream } = scene;
      await change(scene);
      const refused = await rejection(rig.commit(KEY));
      expect(refused).to.be.instanceOf(GatewayError);
      expect(refused).to.include({ code });
      expect(rig.submission.taken).to.deep.equal([]);
      const end = (await rig.ports.events.readStream(operationStream)).at(-1);
      expect(end?.type).to.equal(event);
      if (reason !== undefined) expect(end?.data).to.include({ reason });
      expect(await rig.typesOf(operationStream)).not.to.include('SendIntended');
      expect(await rejection(rig.commit(KEY)), 'nor at the next attempt').to.be.instanceOf(GatewayError);
      expect(rig.submission.taken).to.deep.equal([]);
    });
  }

  it('does not run when any bit of its stored bytes differs', async () => {
    const { mime_size } = await frozenOf(await approved());
    for (let at = 0; at < mime_size; at += Math.ceil(mime_size / 24)) {
      const scene = await approved();
      const { rig, operationStream } = scene;
      rig.content.alter((await frozenOf(scene)).mime_id, at);
      const refused = await rejection(rig.commit(KEY));
      expect(refused, String(at)).to.be.instanceOf(GatewayError);
      expect(rig.submission.taken, String(at)).to.deep.equal([]);
      expect(refused, String(at)).to.include({ code: 'approval_invalidated' });
      const [failed, end] = (await rig.ports.events.readStream(operationStream)).slice(-2);
      expect(failed?.data)
        .to.have.nested.property('error.message')
        .that.includes('not the one that was approved');
      expect(end?.type).to.equal('ApprovalInvalidated');
      expect(end?.data).to.deep.equal({ reason: 'manifest_mismatch', policy: null });
    }
  });

  it('ignores later changes of the draft text and uploads', async () => {
    const scene = await approved();
    const { rig, draftId } = scene;
    const { current } = await rig.draft(draftId);
    rig.content.alter(current?.content_id ?? '', 10);
    await rig.commit(KEY);
    expect(rig.submission.taken[0]?.raw).to.match(/\r\n\r\nHello\r\n$/);
  });
});
