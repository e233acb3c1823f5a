import { expect } from 'chai';
import fc from 'fast-check';
import { APPROVER_ROLES } from '../../../commands/values/policy-document.ts';
import { APPROVAL_STATUSES, statusAt } from '../../../commands/operations/approval-state.ts';
import type { ApprovalRecord } from '../../../commands/operations/approval-record.ts';
import {
  APPROVAL_PARTS,
  type ApprovalFilter,
  listApprovals,
  type ListedApproval,
  mayDecide,
} from '../../../projections/approval-queries.ts';
import { approvals } from '../../../projections/approvals.ts';
import {
  type OperationsVisible,
  sightedApproval,
  sightIn,
} from '../../../commands/approvals/operation-sight.ts';
import { askedFor, type SampleApproval, wentOn } from '../../support/samples/sample-approvals.ts';
import { ORG } from '../../support/samples/sample-history.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

const PEOPLE = ['usr_1', 'usr_2', 'agt_1', 'agt_2'];
const MAILBOXES = ['mbx_1', 'mbx_2', 'mbx_3'];
const LATER = '2100-01-01T00:00:00.000Z';
const EVERYTHING: OperationsVisible = {
  orgId: ORG,
  principalIds: PEOPLE,
  draftMailboxIds: [],
  messageMailboxIds: [],
  approverRoles: [],
  isPerson: false,
  mailboxIds: null,
};

const someOf = (names: readonly string[]) => fc.subarray([...names]);
const approval = fc.record({
  orgId: fc.constantFrom(ORG, ORG, ORG, 'org_other'),
  requester: fc.constantFrom(...PEOPLE),
  mailboxId: fc.constantFrom(...MAILBOXES),
  isSend: fc.boolean(),
  quorum: fc.constantFrom(0, 1, 2),
  approver_role: fc.constantFrom(...APPROVER_ROLES),
  exclude_owner: fc.boolean(),
  expiresAt: fc.constantFrom(LATER, LATER, '2020-01-01T00:00:00.000Z'),
  voter: fc.constantFrom(null, 'usr_1'),
  end: fc.constantFrom(null, null, 'ApprovalGranted', 'ApprovalRejected', 'CommitStarted'),
} as const);
const visibility: fc.Arbitrary<OperationsVisible> = fc.record({
  orgId: fc.constant(ORG),
  principalIds: someOf(PEOPLE).filter((ids) => ids.length > 0),
  draftMailboxIds: someOf(MAILBOXES),
  messageMailboxIds: someOf(MAILBOXES),
  approverRoles: fc.constantFrom([], APPROVER_ROLES.slice(0, 1), [...APPROVER_ROLES]),
  isPerson: fc.boolean(),
  mailboxIds: fc.option(someOf(MAILBOXES), { freq: 3 }),
});
const filter: fc.Arbitrary<ApprovalFilter> = fc.record({
  statuses: fc.option(fc.subarray([...APPROVAL_STATUSES], { minLength: 1 })),
  mailboxId: fc.option(fc.constantFrom(...MAILBOXES), { freq: 4 }),
  role: fc.option(fc.constantFrom(...APPROVAL_PARTS)),
});

describe('listing approvals', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
    const projector = await rig.start({ projections: [approvals] });
    for (const [index, made] of fc.sample(approval, { numRuns: 120, seed: 12 }).entries()) {
      const { isSend, quorum, approver_role, exclude_owner, voter, end, ...rest } = made;
      const name = String(index).padStart(4, '0');
      const terms = { quorum, approver_role, exclude_owner };
      const asked: SampleApproval = { ...rest, terms, ...(isSend ? { draftId: `drf_${name}` } : {}) };
      await askedFor(rig.events, name, asked);
      if (voter !== null) await wentOn(rig.events, name, 'ApprovalVoteCast', { actorId: voter });
      if (end !== null) {
        await wentOn(rig.events, name, end, end === 'ApprovalGranted' ? { commit_by: LATER } : {});
      }
    }
    await rig.settle(projector);
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  /** All pages, each of a few. */
  const listed = async (visible: OperationsVisible, wanted: ApprovalFilter, limit: number, now: Date) => {
    const all: ListedApproval[] = [];
    for (;;) {
      const last = all.at(-1);
      const before = last ? { createdAt: last.createdAt.toISOString(), id: last.id } : null;
      const page = await listApprovals(rig.sql, visible, wanted, { before, limit, now });
      all.push(...page);
      if (page.length < limit) return all;
    }
  };

  it('knows who voted on an approval or may decide it', async () => {
    const rows = await rig.sql.query<{ id: string; voters: string[]; approver_role: string | null }>(
      'select id, voters, approver_role from read.approval where org_id = $1',
      [ORG],
    );
    const visible = { ...EVERYTHING, isPerson: true, approverRoles: ['admin'] };
    for (const { id, voters, approver_role: role } of rows) {
      expect(await mayDecide(rig.sql, visible, 'usr_9', id)).to.equal(role === 'admin');
      expect(await mayDecide(rig.sql, EVERYTHING, 'usr_1', id)).to.equal(voters.includes('usr_1'));
      expect(await mayDecide(rig.sql, { ...visible, orgId: 'org_other' }, 'usr_1', id)).to.equal(false);
      expect(await mayDecide(rig.sql, { ...visible, isPerson: false }, 'usr_9', id)).to.equal(false);
    }
    expect(rows.filter(({ voters }) => voters.length > 0)).not.to.have.length(0);
    expect(rows.filter(({ approver_role: role }) => role === 'admin')).not.to.have.length(0);
  });

  it('returns exactly the visible matches, in order, page by page', async () => {
    const now = new Date();
    const none: ApprovalFilter = { statuses: null, mailboxId: null, role: null };
    const everything = await listed(EVERYTHING, none, 1_000, now);
    expect(everything).to.have.length.above(60);
    await fc.assert(
      fc.asyncProperty(visibility, filter, async (visible, wanted) => {
        const expected = everything.filter((row) => isWanted(row, visible, wanted, now));
        const found = await listed(visible, wanted, 7, now);
        expect(found.map(({ id }) => id)).to.deep.equal(expected.map(({ id }) => id));
      }),
      { numRuns: 150 },
    );
  });
});

/** By what the write side and the single read say of it. */
function isWanted(
  { record }: ListedApproval,
  visible: OperationsVisible,
  { statuses, mailboxId, role }: ApprovalFilter,
  now: Date,
): boolean {
  const status = statusAt(record.status, record.expiresAt, now);
  if (sightIn(visible, sightedApproval(record)) === null) return false;
  if (statuses?.includes(status) === false || (mailboxId ?? record.mailboxId) !== record.mailboxId)
    return false;
  if (role === 'approver') return status === 'awaiting_approval' && mayVote(record, visible);
  return role === null || isOwn(record, visible);
}

const isOwn = ({ requester }: ApprovalRecord, { principalIds }: OperationsVisible): boolean =>
  principalIds.includes(requester.id);

function mayVote(record: ApprovalRecord, visible: OperationsVisible): boolean {
  const { terms } = record.requested;
  const isExcluded = terms.exclude_owner && isOwn(record, visible);
  const voted = record.votes.some(({ by }) => visible.principalIds.includes(by));
  return terms.quorum > 0 && visible.approverRoles.includes(terms.approver_role) && !isExcluded && !voted;
}
