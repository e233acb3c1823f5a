import { expect } from 'chai';
import type { Context, ReadRecord } from '../../../../commands/kernel/capability.ts';
import { recordPreview, recordSeen } from '../../../../read-api/approvals/approval-access.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const MINUTE_MS = 60_000;

/** Each test has its own session, because the process remembers what was recorded. */
function looking(tokenId: string) {
  const reads: ReadRecord[] = [];
  const clock = new ManualClock();
  const stage = { isDown: false };
  const context = {
    caller: { token: { id: tokenId } },
    ports: { clock },
    recordRead: (read: ReadRecord) => {
      if (stage.isDown) return Promise.reject(new Error('down'));
      reads.push(read);
      return Promise.resolve();
    },
  } as unknown as Context;
  return { context, reads, clock, stage };
}

const seen = (id: string, mailboxId = 'mbx_1') => ({ id: `opn_${id}`, state: { mailboxId } });

describe('recording of reads of approvals', () => {
  it('happens once per mailbox, and again after a quarter of an hour', async () => {
    const { context, reads, clock } = looking('ses_1');
    await recordSeen(context, [seen('a'), seen('b', 'mbx_2'), seen('c')]);
    expect(reads).to.deep.equal([
      { mailboxId: 'mbx_1', messageIds: [], what: 'approval', approvalIds: ['chk_a', 'chk_c'] },
      { mailboxId: 'mbx_2', messageIds: [], what: 'approval', approvalIds: ['chk_b'] },
    ]);
    clock.advance(14 * MINUTE_MS);
    await recordSeen(context, [seen('a'), seen('d')]);
    expect(reads.slice(2).map(({ approvalIds }) => approvalIds)).to.deep.equal([['chk_d']]);
    clock.advance(MINUTE_MS);
    await recordSeen(context, [seen('a')]);
    expect(reads.slice(3).map(({ approvalIds }) => approvalIds)).to.deep.equal([['chk_a']]);
  });

  it('happens for each session', async () => {
    const [one, other] = [looking('ses_2'), looking('ses_3')];
    await recordSeen(one.context, [seen('a')]);
    await recordSeen(other.context, [seen('a')]);
    expect(other.reads).to.have.length(1);
  });

  it('happens at the next read when it failed', async () => {
    const { context, reads, stage } = looking('ses_4');
    stage.isDown = true;
    expect(await rejection(recordSeen(context, [seen('a')]))).to.include({ message: 'down' });
    stage.isDown = false;
    await recordSeen(context, [seen('a')]);
    expect(reads).to.have.length(1);
  });

  it('happens at each preview', async () => {
    const { context, reads } = looking('ses_5');
    await recordPreview(context, [seen('a')]);
    await recordPreview(context, [seen('a')]);
    expect(reads).to.have.length(2);
  });
});
