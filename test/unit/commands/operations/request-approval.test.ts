import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { loadAggregate } from '../../../../commands/kernel/decide-and-append.ts';
import type { PolicyEntry } from '../../../../commands/ports/directory.ts';
import { MAILBOX_SCOPES, type Role } from '../../../../commands/values/scopes.ts';
import { contentHashOf, openManifest } from '../../../../commands/operations/manifest.ts';
import { operation, type OperationReply } from '../../../../commands/operations/operation.ts';
import { type OperationRig, operationRig, type RigOptions } from '../../../support/worlds/operation-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';
import { seatMember } from '../../../support/worlds/people.ts';

/** A rig with these rules, whose requester is a member besides the `approvers`. */
function under(
  rules: readonly unknown[],
  approvers: readonly Role[] = ['approver'],
  options: RigOptions = {},
): OperationRig {
  const rig = operationRig(options);
  const entry = policyEntry(rules, { version: 4 });
  const { state } = rig.ports.directory;
  const { policies } = state;
  (policies as Map<string, PolicyEntry>).set(entry.id, entry);
  for (const [index, role] of approvers.entries())
    seatMember(state, 'org_1', `usr_approver_${String(index)}`, role);
  return rig;
}

const REQUIRE = {
  id: 'required',
  when: { actions: ['archive', 'expunge'] },
  then: { decision: 'require', quorum: 1 },
};

const acting = (messageIds: readonly string[], type: string, mode?: string, reason?: string) => ({
  operation: { type: 'message_actions', select: { message_ids: messageIds }, actions: [{ type }] },
  ...(mode === undefined ? {} : { authorization: { mode, ...(reason === undefined ? {} : { reason }) } }),
});

const typesOf = async (rig: OperationRig, reply: OperationReply): Promise<readonly string[]> =>
  (await rig.events.readStream(`operation-${reply.operation_id ?? ''}`)).map(({ type }) => type);

describe('requesting an approval', () => {
  it(`records the request in one append and changes nothing ${verifies('contract:6:check-modes', 'contract:1:shared-id')}`, async () => {
    const rig = under([REQUIRE]);
    const reply = await rig.reply(actOnEmail, acting([rig.arrive('INBOX')], 'archive'));
    expect(reply.status).to.equal('awaiting_approval');
    expect(reply.approval).to.deep.include({
      id: reply.operation_id?.replace('opn_', 'chk_'),
      status: 'awaiting_approval',
      commit_by: null,
    });
    expect(await typesOf(rig, reply)).to.deep.equal([
      'OperationSubmitted',
      'OperationDecided',
      'ApprovalRequested',
    ]);
    expect(rig.mailbox.effects).to.deep.equal([]);
  });

  it(`grants at once when the operation is only prepared and policy allows it ${verifies('contract:6:check-modes')}`, async () => {
    const rig = under([]);
    const reply = await rig.reply(actOnEmail, acting([rig.arrive('INBOX')], 'archive', 'prepare'));
    expect(reply.status).to.equal('pending_commit');
    expect(reply.approval?.commit_by).to.equal(reply.approval?.expires_at);
    expect((await typesOf(rig, reply)).at(-1)).to.equal('ApprovalGranted');
    const asked = await rig.reply(actOnEmail, acting([rig.arrive('INBOX')], 'archive', 'request_approval'));
    expect(asked.status).to.equal('awaiting_approval');
    expect(rig.mailbox.effects).to.deep.equal([]);
  });

  it(`stores exactly what would happen, and names it by its hash ${verifies('contract:9:manifest')}`, async () => {
    const rig = under([REQUIRE]);
    const id = rig.arrive('INBOX', '<one@example.com>');
    const gone = rig.idOf('INBOX', 4_000);
    const reply = await rig.reply(actOnEmail, acting([id, gone], 'archive', 'request_approval', 'Tidy.'));
    const { state } = await loadAggregate(rig.ports.events, operation, reply.operation_id ?? '');
    const requested = state.approval?.requested;
    const text = requested ? await rig.ports.personal.open(requested.manifest) : null;
    expect(contentHashOf(text ?? '')).to.equal(reply.approval?.content_hash);
    const manifest = openManifest(text ?? '', reply.approval?.content_hash ?? '');
    expect(manifest).to.deep.include({ mailbox_id: 'mbx_0', operation_id: reply.operation_id });
    expect(manifest).to.deep.include({ steps: [{ action: 'archive', folder: 2, folder_path: 'Archive' }] });
    // A message that has left its place cannot be approved; it stays the outcome of that item.
    expect(
      manifest?.kind === 'message_actions' && manifest.items.map(({ message_id }) => message_id),
    ).to.deep.equal([id]);
    expect(requested).to.deep.include({ action: 'archive', cardinality: { min: 1, max: 2 } });
  });

  it(`is refused with a free key when too few people could decide ${verifies('contract:9:eligible')}`, async () => {
    const two = { ...REQUIRE, then: { decision: 'require', quorum: 2, approver_role: 'admin' } };
    const rig = under([two], ['admin', 'approver', 'auditor']);
    const input = acting([rig.arrive('INBOX')], 'archive');
    expect(await rejection(rig.invoke(actOnEmail, input, 'k'))).to.deep.include({
      code: 'no_eligible_approver',
      details: { required: 2, eligible: 1, approver_role: 'admin' },
    });
    seatMember(rig.ports.directory.state, 'org_1', 'usr_boss', 'owner');
    expect((await rig.reply(actOnEmail, input, 'k')).status).to.equal('awaiting_approval');
  });

  it(`excludes the person behind the request when the rule excludes the owner ${verifies('contract:9:eligible')}`, async () => {
    const foreign = { ...REQUIRE, then: { decision: 'require', exclude_owner: true } };
    const rig = under([foreign], []);
    seatMember(rig.ports.directory.state, 'org_1', 'usr_1', 'owner');
    const input = acting([rig.arrive('INBOX')], 'archive');
    expect(await rejection(rig.invoke(actOnEmail, input))).to.include({ code: 'no_eligible_approver' });
  });

  it(`replays the current approval when the key is repeated ${verifies('contract:14:check-replay')}`, async () => {
    const rig = under([REQUIRE]);
    const input = acting([rig.arrive('INBOX')], 'archive');
    const first = await rig.reply(actOnEmail, input, 'k');
    const again = await rig.invoke(actOnEmail, input, 'k');
    expect(again.replayed).to.equal(true);
    expect(again.output).to.deep.equal({ ...first, original_status: 'awaiting_approval' });
    expect(await typesOf(rig, first)).to.have.length(3);
  });

  it(`creates one approval when ten equal requests arrive at once ${verifies('contract:14:check-replay')}`, async () => {
    const rig = under([REQUIRE]);
    const input = acting([rig.arrive('INBOX')], 'archive');
    const replies = await Promise.all(Array.from({ length: 10 }, () => rig.reply(actOnEmail, input, 'k')));
    expect(new Set(replies.map(({ approval }) => approval?.content_hash)).size).to.equal(1);
  });

  it(`requires approvals:request when policy or the mode asks for an approval ${verifies('contract:6:request-scope')}`, async () => {
    const scopes = MAILBOX_SCOPES.filter((scope) => scope !== 'approvals:request');
    const rig = under([REQUIRE], ['approver'], { scopes });
    const input = acting([rig.arrive('INBOX')], 'archive');
    for (const mode of ['execute_or_request_approval', 'request_approval', 'prepare'])
      expect(
        await rejection(rig.invoke(actOnEmail, { ...input, authorization: { mode } })),
        mode,
      ).to.deep.include({ code: 'insufficient_scope', details: { required: ['approvals:request'] } });
    const trash = await rig.reply(actOnEmail, acting([rig.arrive('INBOX')], 'trash'));
    expect(trash.status).to.equal('completed');
  });

  it(`is needed for every expunge, even when policy allows it ${verifies('contract:6:expunge-never-direct')}`, async () => {
    const rig = under([{ id: 'free', when: {}, then: { decision: 'allow' } }]);
    const ids = [rig.arrive('INBOX')];
    const refused = await rejection(rig.invoke(actOnEmail, acting(ids, 'expunge', 'execute')));
    expect(refused).to.include({ code: 'approval_required' });
    expect((await rig.reply(actOnEmail, acting(ids, 'expunge'))).status).to.equal('pending_commit');
    expect(rig.mailbox.effects).to.deep.equal([]);
  });

  it(`refuses an expunge when the mail server cannot do it ${verifies('contract:6:expunge-uidplus')}`, async () => {
    const rig = under([]);
    Object.assign(rig.mailbox, { capabilities: { ...rig.mailbox.capabilities, uidPlus: false } });
    const refused = await rejection(rig.invoke(actOnEmail, acting([rig.arrive('INBOX')], 'expunge')));
    expect(refused).to.include({ code: 'operation_unsupported' });
  });
});
