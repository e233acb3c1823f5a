import { expect } from 'chai';
import type { OperationsVisible } from '../../../commands/approvals/operation-sight.ts';
import { listOperations } from '../../../projections/operation-queries.ts';
import { happened, sampleAuthor } from '../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';
import { verifies } from '../../support/suite/verifies.ts';

type Outcome = 'done' | 'failed' | 'unknown';
/** By this principal on this mailbox. */
interface Operated {
  readonly by: string;
  readonly on: string;
  /** Null = still running. */
  readonly outcome: Outcome | null;
  readonly isSend?: boolean;
}
const counted = (outcome: Outcome) => ({ done: 0, failed: 0, unknown: 0, [outcome]: 1 });

describe('listing operations', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const operated = async (id: string, { by, on: mailboxId, outcome, isSend = false }: Operated) => {
    const actor = { type: 'agent' as const, id: by, token_id: null, session_id: null };
    const { OperationSubmitted, SendIntended, SendOutcomeRecorded } = SAMPLE_EVENTS;
    const mailbox = { mailbox_id: mailboxId };
    await happened(
      rig.events,
      `operation-${id}`,
      [
        { type: 'OperationSubmitted', data: { ...OperationSubmitted, ...mailbox } },
        ...(isSend ? [{ type: 'SendIntended' as const, data: { ...SendIntended, ...mailbox } }] : []),
        ...(isSend && outcome
          ? [{ type: 'SendOutcomeRecorded' as const, data: { ...SendOutcomeRecorded, outcome } }]
          : []),
        ...(outcome ? [{ type: 'OperationCompleted' as const, data: { summary: counted(outcome) } }] : []),
      ],
      sampleAuthor('org_1', { actor }),
    );
  };

  const nobody: OperationsVisible = {
    orgId: 'org_1',
    principalIds: [],
    draftMailboxIds: [],
    messageMailboxIds: [],
    approverRoles: [],
    isPerson: false,
    mailboxIds: null,
  };
  const found = async (visible: Partial<OperationsVisible>, state: 'running' | 'unknown' | null = null) => {
    const page = { before: null, limit: 50 };
    const filter = { state, mailboxId: null };
    const rows = await listOperations(rig.sql, { ...nobody, ...visible }, filter, page);
    return rows.map(({ id }) => id);
  };

  it(`shows requesters their own operations, and readers those of their mailboxes ${verifies('contract:3:operation-visibility')}`, async () => {
    const projector = await rig.start();
    await operated('opn_a', { by: 'agt_1', on: 'mbx_1', outcome: 'done' });
    await operated('opn_b', { by: 'agt_2', on: 'mbx_1', outcome: 'unknown', isSend: true });
    await operated('opn_c', { by: 'agt_2', on: 'mbx_2', outcome: null });
    await rig.settle(projector);
    expect(await found({})).to.deep.equal([]);
    expect(await found({ principalIds: ['agt_1'] })).to.deep.equal(['opn_a']);
    expect(await found({ principalIds: ['agt_2', 'agt_1'] })).to.have.members(['opn_a', 'opn_b', 'opn_c']);
    expect(await found({ messageMailboxIds: ['mbx_1', 'mbx_2'] })).to.have.members(['opn_a', 'opn_c']);
    expect(await found({ draftMailboxIds: ['mbx_1', 'mbx_2'] })).to.deep.equal(['opn_b']);
    const everybody = { principalIds: ['agt_1', 'agt_2'] };
    expect(await found({ ...everybody, mailboxIds: ['mbx_2'] })).to.deep.equal(['opn_c']);
    expect(await found({ ...everybody, orgId: 'org_2' })).to.deep.equal([]);
    expect(await found(everybody, 'running')).to.deep.equal(['opn_c']);
    expect(await found(everybody, 'unknown')).to.deep.equal(['opn_b']);
  });

  it('follows each operation and pages without a gap or a repeat', async () => {
    const projector = await rig.start();
    const reconciled = { type: 'SendReconciled' as const, data: { outcome: 'done' as const, error: null } };
    await happened(rig.events, 'operation-opn_b', [reconciled], sampleAuthor('org_1'));
    await rig.settle(projector);
    const visible = { ...nobody, principalIds: ['agt_1', 'agt_2'] };
    const filter = { state: null, mailboxId: null };
    const page = (before: { createdAt: string; id: string } | null) =>
      listOperations(rig.sql, visible, filter, { before, limit: 1 });
    const seen = [];
    let before = null;
    for (let [row] = await page(before); row; [row] = await page(before)) {
      seen.push(row);
      before = { createdAt: row.createdAt.toISOString(), id: row.id };
    }
    expect(seen.map(({ id, state }) => `${id} ${state}`)).to.have.members([
      'opn_a completed',
      'opn_b completed',
      'opn_c running',
    ]);
    const sent = seen.find(({ id }) => id === 'opn_b');
    expect(sent).to.deep.include({ draftId: 'drf_1', items: counted('done'), mailboxId: 'mbx_1' });
    expect(sent?.requester).to.deep.equal({ id: 'agt_2', kind: 'agent' });
    const ofOne = await listOperations(
      rig.sql,
      visible,
      { state: null, mailboxId: 'mbx_2' },
      { before: null, limit: 9 },
    );
    expect(ofOne.map(({ id }) => id)).to.deep.equal(['opn_c']);
  });
});
