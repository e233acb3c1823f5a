import { expect } from 'chai';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { resolveSend } from '../../../../commands/email/resolve-operation.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { sampleAuthor } from '../../../support/samples/event-author.ts';
import { LATER_AT_ENVELOPE } from '../../../support/fakes/fake-submission.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const KEY = 'key-1';

describe('approval_commit with a repeated Idempotency-Key', () => {
  let rig: ApprovedSendRig;
  let id: string;

  beforeEach(async () => {
    rig = new ApprovedSendRig();
    id = await rig.granted(KEY);
  });

  const commit = async (): Promise<OperationReply> => {
    const input = { approval_id: rig.operationId(KEY).replace('opn_', 'chk_') };
    return (await rig.invoke(commitApproval, input, 'commit-1')).output as OperationReply;
  };

  it('leaves a scheduled retry to the gateway', async () => {
    rig.submission.course = LATER_AT_ENVELOPE;
    expect(await rejection(commit())).to.include({ code: 'provider_timeout' });
    const { send } = await rig.draft(id);
    rig.submission.course = { kind: 'accept' };
    const again = await commit();
    expect(again.status).to.equal('pending_commit');
    expect(again.approval).to.include({ status: 'pending_commit', commit_at: send?.retryAt });
    expect(rig.submission.taken).to.deep.equal([]);
  });

  it('returns the outcome of a commit once it is no longer unknown', async () => {
    rig.submission.course = { kind: 'lost', taken: true };
    expect(await rejection(commit())).to.include({ code: 'outcome_unknown' });
    expect((await commit()).approval?.status).to.equal('commit_unknown');
    await resolveSend(rig.ports, sampleAuthor('org_1'), rig.operationId(KEY), 'done');
    const told = await commit();
    expect(told.status).to.equal('completed');
    expect(told.approval?.status).to.equal('committed');
    expect(rig.submission.taken).to.have.length(1);
  });

  for (const [title, end, code] of [
    ['was withdrawn', () => rig.cancel(KEY), 'approval_not_pending'],
    [
      'expired',
      () => {
        rig.parts.clock.advance(24 * 3_600_000);
      },
      'approval_expired',
    ],
  ] as const) {
    it(`stays refused when nothing had run and the approval ${title}`, async () => {
      const { events } = rig.ports;
      const append = events.append.bind(events);
      events.append = (stream, expected, facts) =>
        facts.some(({ type }) => type === 'CommitStarted')
          ? Promise.reject(new GatewayError('store_unavailable', 'Away.'))
          : append(stream, expected, facts);
      expect(await rejection(commit())).to.include({ code: 'store_unavailable' });
      events.append = append;
      await end();
      expect(await rejection(commit())).to.include({ code });
      expect(await rejection(commit())).to.include({ code });
      expect(rig.submission.taken).to.deep.equal([]);
    });
  }
});
