import { expect } from 'chai';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { wantsToCopy, wantsToExpunge, wantsToMove } from '../../../../commands/approvals/wants-to-act.ts';
import { MAILBOX_SCOPES } from '../../../../commands/values/scopes.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { approvalRig } from '../../../support/worlds/approval-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('wants_to_*', () => {
  it(`prepares the operation, which runs with its commit ${verifies('contract:6:wants-to', 'contract:17:route-wants-to-move', 'contract:17:route-wants-to-copy', 'contract:17:route-wants-to-expunge')}`, async () => {
    const rig = approvalRig();
    rig.rules({ id: 'free', when: {}, then: { decision: 'allow' } });
    const cases = [
      [wantsToMove, { folder: 'archive' }, 'move'],
      [wantsToCopy, { folder: 'Work' }, 'copy'],
      [wantsToExpunge, { reason: 'It holds a secret.' }, 'expunge'],
    ] as const;
    for (const [capability, more, action] of cases) {
      const message_ids = [rig.arrive('INBOX')];
      const reply = await rig.reply(capability, { message_ids, ...more });
      expect(reply.status).to.equal('pending_commit');
      const before = rig.mailbox.effects.length;
      const { output } = await rig.invokeAs(rig.caller, commitApproval, { approval_id: reply.approval?.id });
      const done = output as OperationReply;
      expect(done.results.map((result) => [result.action, result.outcome])).to.deep.equal([[action, 'done']]);
      expect(rig.mailbox.effects.length).to.equal(before + 1);
    }
  });

  it(`requires approvals:request, and a reason to expunge ${verifies('contract:6:wants-to')}`, async () => {
    const message_ids = ['msg_1'];
    const bare = approvalRig({ scopes: MAILBOX_SCOPES.filter((scope) => scope !== 'approvals:request') });
    const move = { message_ids, folder: 'archive' };
    expect(await rejection(bare.invoke(wantsToMove, move))).to.include({ code: 'insufficient_scope' });
    expect(await rejection(approvalRig().invoke(wantsToExpunge, { message_ids }))).to.include({
      code: 'invalid_request',
    });
  });
});
