import { endOf } from '../../../../commands/operations/approval-state.ts';
import { expect } from 'chai';
import { invalidateMissingTargets } from '../../../../commands/approvals/invalidate-missing-targets.ts';
import { settleSend } from '../../../../commands/sending/settle-send.ts';
import type { GrantEntry } from '../../../../commands/ports/directory.ts';
import type { FolderRole } from '../../../../commands/values/folder-roles.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const KEY = 'key-1';
const INBOX = 1;

/** A reply to a message of INBOX, which it quotes. */
async function startReply(rig: SendRig): Promise<string> {
  const { directory, ids, locators } = rig.ports;
  const id = ids.newId('drf');
  const mailboxNumber = directory.state.mailboxes.get('mbx_0')?.number ?? 0;
  const source = { mailboxNumber, folderNumber: INBOX, uidValidity: 1, uid: 7 };
  await rig.append(id, {
    type: 'DraftStarted',
    data: {
      mailbox_id: 'mbx_0',
      kind: 'reply',
      source_message_id: locators.message(source),
      threading: null,
      draft: await rig.version(id, 1, ['bob@example.org']),
    },
  });
  return id;
}

/** Limits every grant to these folders from now on. */
function narrow({ ports }: SendRig, folderRoles: readonly FolderRole[]): void {
  const grants = ports.directory.state.grants as Map<string, GrantEntry>;
  for (const [id, grant] of grants) grants.set(id, { ...grant, folderRoles });
}

/** A grant that still reaches the source's folder, and one that no longer does. */
const KEPT: readonly FolderRole[] = ['inbox', 'sent'];
const LOST: readonly FolderRole[] = ['sent'];

describe("a reply whose sender's grant no longer reaches the source folder", () => {
  const held = policyEntry([
    { id: 'held', when: { actions: ['send'] }, then: { decision: 'allow', undo_seconds: 60 } },
  ]);

  it(`is not sent after its undo delay ${verifies('contract:3:folder-reach')}`, async () => {
    for (const [folders, code] of [[KEPT, undefined], [LOST, 'insufficient_scope']] as const) {
      const rig = new SendRig({ kind: 'agent', policy: held });
      const id = await startReply(rig);
      await rig.send(id, KEY);
      narrow(rig, folders);
      rig.parts.clock.advance(60_000);
      await settleSend(rig.newRun(), { operationId: rig.operationId(KEY), orgId: 'org_1' });
      expect(rig.submission.taken).to.have.length(code === undefined ? 1 : 0);
      expect((await rig.operation(rig.operationId(KEY))).send?.outcome?.error?.code).to.equal(code);
    }
  }); // prettier-ignore

  const approved = async (): Promise<ApprovedSendRig> => {
    const rig = new ApprovedSendRig();
    await rig.ask(await startReply(rig), KEY);
    await rig.vote(KEY);
    return rig;
  };

  it(`is not sent by a commit, although it was approved ${verifies('contract:10:invalidated')}`, async () => {
    const rig = await approved();
    narrow(rig, LOST);
    const error = await rejection(rig.commit(KEY));
    expect(error).to.deep.include({ code: 'approval_invalidated' });
    expect((error as { details?: object }).details).to.include({ reason: 'grant_gone' });
    expect(rig.submission.taken).to.deep.equal([]);
    const { approval } = await rig.operation(rig.operationId(KEY));
    expect(endOf(approval)).to.deep.include({ status: 'invalidated' });
  });

  it(`ends its approval while that waits ${verifies('contract:10:invalidated')}`, async () => {
    const rig = await approved();
    const open = { operationId: rig.operationId(KEY), orgId: 'org_1' };
    narrow(rig, KEPT);
    expect(await invalidateMissingTargets(rig.ports, open, { asksServer: false })).to.equal(false);
    narrow(rig, LOST);
    expect(await invalidateMissingTargets(rig.ports, open, { asksServer: false })).to.equal(true);
    const { approval } = await rig.operation(open.operationId);
    expect(endOf(approval)).to.have.nested.property('why.reason', 'grant_gone');
  });
});
