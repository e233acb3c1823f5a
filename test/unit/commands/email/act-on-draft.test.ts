import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { getOperation } from '../../../../read-api/operations/read-operations.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SendRig, type SendRigOptions } from '../../../support/worlds/send-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';
import type { Draft } from '../../../../commands/operations/draft-shape.ts';

const NOTES = {
  filename: 'notes.txt',
  content_type: 'text/plain',
  content_base64: Buffer.from('notes').toString('base64'),
};
const REQUIRE = {
  decision: 'require',
  quorum: 1,
  approver_role: 'owner',
  exclude_owner: false,
  decision_ttl: 3_600,
  commit_ttl: 3_600,
} as const;
const wants = (then: typeof REQUIRE | { readonly decision: 'deny' }): SendRigOptions => ({
  policy: policyEntry([{ id: 'drafts', when: { actions: ['draft_edit'] }, then }]),
});

describe('email_act on drafts', () => {
  const act = async (rig: SendRig, operation: object, key: string | null = 'key-1') => {
    const preview = key === null ? { authorization: { mode: 'preview' } } : {};
    const input = { mailbox_id: 'mbx_0', operation, ...preview };
    const { output } = await rig.invoke(actOnEmail, input, key);
    return output as OperationReply & { readonly draft: Draft };
  };
  const previewed = async (rig: SendRig, operation: object) =>
    (await act(rig, operation, null)).preview?.content_hash;
  const newDraft = (text: string) => ({
    type: 'draft_create',
    draft: { to: ['bob@example.org'], text, attachments: [NOTES] },
  });
  const edit = (draftId: string) => ({
    type: 'draft_edit',
    draft_id: draftId,
    patch: { subject: 'New', attachments: { add: [NOTES] } },
  });

  it(`previews the content hash that an edit would produce ${verifies('contract:6:draft-preview-hash')}`, async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const before = (await rig.draft(id)).current?.content_hash;
    const hash = await previewed(rig, edit(id));
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal(['DraftStarted']);
    const edited = await act(rig, edit(id));
    expect(hash).to.equal(edited.draft.content_hash).and.not.equal(before);
  });

  it(`previews the content hash of a new draft ${verifies('contract:6:draft-preview-hash')}`, async () => {
    const rig = new SendRig();
    const hashes = [];
    for (const text of ['One.', 'One.', 'Two.']) hashes.push(await previewed(rig, newDraft(text)));
    expect(hashes[0]).to.be.a('string').with.length.greaterThan(20);
    expect(hashes[1]).to.equal(hashes[0]);
    expect(hashes[2]).not.to.equal(hashes[0]);
  });

  it(`previews the content hash of the draft to discard ${verifies('contract:6:draft-preview-hash')}`, async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const hash = await previewed(rig, { type: 'draft_discard', draft_id: id });
    expect(hash).to.equal((await rig.draft(id)).current?.content_hash);
  });

  for (const then of [{ decision: 'deny' }, REQUIRE] as const) {
    const { decision } = then;
    it(`previews in full when policy says ${decision}, and refuses the change with its key free`, async () => {
      const rig = new SendRig(wants(then));
      const id = await rig.startDraft();
      const { preview } = await act(rig, edit(id), null);
      expect(preview?.policy).to.include({ decision, rule_id: 'drafts' });
      expect(preview?.content_hash).not.to.equal((await rig.draft(id)).current?.content_hash);
      expect(await rejection(act(rig, edit(id)))).to.include({
        code: decision === 'deny' ? 'policy_denied' : 'approval_required',
      });
      expect(await rig.typesOf(`operation-${rig.operationId('key-1')}`)).to.deep.equal([]);
    });
  }

  it('returns no operation id, because there is no operation to read', async () => {
    const rig = new SendRig();
    expect(await act(rig, newDraft('One.'))).not.to.have.property('operation_id');
    const read = rig.invoke(getOperation, { operation_id: rig.operationId('key-1') }, null);
    expect(await rejection(read)).to.include({ code: 'not_found' });
  });
});
