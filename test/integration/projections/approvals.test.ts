import { operation, operationOfApproval } from '../../../commands/operations/operation.ts';
import { approvalRecord } from '../../../commands/operations/approval-record.ts';
import { type ApprovalRow, recordOfRow } from '../../../projections/approval-rows.ts';
import { expect } from 'chai';
import fc from 'fast-check';
import type { AnyEvent } from '../../../commands/event-catalogue.ts';
import type { Fact } from '../../../commands/values/event.ts';
import { approvalStatus } from '../../../commands/operations/approval-state.ts';
import { loadAggregate } from '../../../commands/kernel/decide-and-append.ts';
import { countsOf } from '../../../commands/operations/approval-reply.ts';
import { statusAt } from '../../../projections/approval-queries.ts';
import {
  listDueCommits,
  listOverdueApprovals,
  listUndecidedApprovals,
} from '../../../projections/due-approvals.ts';
import { approvals } from '../../../projections/approvals.ts';
import { projectedEvent } from '../../../projections/projection.ts';
import { happened, openSample } from '../../support/samples/event-author.ts';
import { askedFor, requestFacts, wentOn } from '../../support/samples/sample-approvals.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { intended, MAILBOX } from '../../support/samples/sample-history.ts';
import { openRig, type Rig, rowsOf } from '../infra/projector/projector-rig.ts';

const HOUR_MS = 3_600_000;
const inHours = (hours: number): string => new Date(Date.now() + hours * HOUR_MS).toISOString();
const at = (hours: number): Date => new Date(inHours(hours));

describe('the approvals read model', () => {
  let rig: Rig;
  let settle: () => Promise<void>;
  before(async () => {
    rig = await openRig();
    const projector = await rig.start({ projections: [approvals] });
    settle = () => rig.settle(projector);
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('has the status of the write side after any history and at any time', async () => {
    const { events, sql } = rig;
    const histories = fc.sample(history, { numRuns: 300, seed: 6 });
    for (const [index, facts] of histories.entries()) {
      await happened(events, `operation-opn_random${String(index)}`, [...requestFacts(), ...facts]);
    }
    await settle();
    const seen = new Set<string>();
    for (const now of [at(-2), at(0), at(3), at(30)]) {
      const told = await sql.query<{ id: string; status: string }>(
        `select id, ${statusAt('$1::timestamptz')} as status from read.approval where id like 'chk_random%'`,
        [now],
      );
      expect(told).to.have.lengthOf(histories.length);
      for (const { id, status } of told) {
        const { state } = await loadAggregate(events, operation, id.replace('chk', 'opn'));
        const hasUnknown = (countsOf(state)?.unknown ?? 0) > 0;
        expect(status, id).to.equal(state.approval && approvalStatus(state.approval, { now, hasUnknown }));
        seen.add(status);
      }
    }
    expect([...seen]).to.include.members([
      'expired',
      'commit_unknown',
      'committing',
      'pending_commit',
      'awaiting_approval',
    ]);
  });

  it('lists what a single read answers after any history', async () => {
    const { events, sql } = rig;
    await settle();
    const rows = await sql.query<ApprovalRow & Readonly<Record<string, unknown>>>(
      `select * from read.approval where id like 'chk_random%'`,
    );
    expect(rows).to.have.lengthOf(300);
    for (const row of rows) {
      const operationId = operationOfApproval(row.id);
      const { state } = await loadAggregate(events, operation, operationId);
      const { requester, ...record } = approvalRecord(operationId, state);
      const { id, type } = requester;
      expect(recordOfRow(row), operationId).to.deep.equal({ ...record, requester: { id, type } });
    }
  });

  it('finds expired approvals, due commits, and open approvals of a mailbox', async () => {
    const { events, sql } = rig;
    const none = { except: [], limit: 100 };
    const ids = (found: readonly { readonly operationId: string }[]): string[] =>
      found.map(({ operationId }) => operationId).filter((id) => !id.startsWith('opn_random'));
    await askedFor(events, 'short', { expiresAt: inHours(1) });
    await askedFor(events, 'long', { expiresAt: inHours(20), draftId: 'drf_1', mailboxId: 'mbx_2' });
    await askedFor(events, 'granted', { expiresAt: inHours(1) });
    await wentOn(events, 'granted', 'ApprovalGranted', { commit_by: inHours(4) });
    await wentOn(events, 'granted', 'CommitScheduled', { commit_at: inHours(2) });
    await askedFor(events, 'ended', { expiresAt: inHours(1) });
    await wentOn(events, 'ended', 'ApprovalCancelled');
    await settle();
    const overdue = async (hours: number) =>
      ids(await listOverdueApprovals(sql, { ...none, now: at(hours) }));
    const all = { ...none, ofOneMailbox: 100, busy: [] };
    const due = async (hours: number) => ids(await listDueCommits(sql, { ...all, now: at(hours) }));
    expect(await overdue(0)).to.deep.equal([]);
    expect(await overdue(2)).to.deep.equal(['opn_short']);
    expect(await overdue(5)).to.deep.equal(['opn_short', 'opn_granted']);
    expect(await due(1)).to.deep.equal([]);
    expect(await due(3)).to.deep.equal(['opn_granted']);
    expect(await due(5), 'its time is over').to.deep.equal([]);
    const open = await listUndecidedApprovals(sql, { mailboxes: ['mbx_2'] }, { after: '', limit: 100 });
    expect(open).to.deep.equal([{ operationId: 'opn_long', mailboxId: 'mbx_2', orgId: 'org_a' }]);
    const except = ['opn_short'];
    expect(ids(await listOverdueApprovals(sql, { limit: 100, except, now: at(5) }))).to.deep.equal([
      'opn_granted',
    ]);
    await wentOn(events, 'granted', 'CommitStarted');
    await settle();
    expect(await overdue(5), 'what is being committed does not expire').to.deep.equal(['opn_short']);
    expect(await due(3)).to.deep.equal([]);
  });

  it('finds few commits of one mailbox at a time, and fewer while some are running', async () => {
    const { events, sql } = rig;
    for (const [name, mailboxId] of [['x1', 'mbx_x'], ['x2', 'mbx_x'], ['x3', 'mbx_x'], ['y1', 'mbx_y']] as const) {
      await askedFor(events, name, { expiresAt: inHours(1), mailboxId });
      await wentOn(events, name, 'ApprovalGranted', { commit_by: inHours(4) });
      await wentOn(events, name, 'CommitScheduled', { commit_at: inHours(2) });
    }
    await settle();
    const due = async (busy: readonly string[], except: readonly string[] = []) =>
      (await listDueCommits(sql, { now: at(3), limit: 100, ofOneMailbox: 2, busy, except }))
        .map(({ operationId }) => operationId)
        .filter((id) => /^opn_[xy]\d$/.test(id));
    expect(await due([])).to.have.members(['opn_x1', 'opn_x2', 'opn_y1']);
    expect(await due(['mbx_x'], ['opn_x1'])).to.have.members(['opn_x2', 'opn_y1']);
    expect(await due(['mbx_x', 'mbx_x'], ['opn_x1', 'opn_x2'])).to.have.members(['opn_y1']);
  }); // prettier-ignore

  it('stores an approval whose first append came in pieces, and no operation that did not wait', async () => {
    const { events, sql } = rig;
    for (const fact of requestFacts()) {
      await happened(events, 'operation-opn_pieces', [fact]);
      await settle();
    }
    await intended(events, 'opn_direct');
    await settle();
    const rows = await sql.query(
      `select id, mailbox_id, requester_id from read.approval where id = 'chk_pieces'`,
    );
    expect(rows).to.deep.equal([{ id: 'chk_pieces', mailbox_id: MAILBOX, requester_id: 'usr_someone' }]);
    expect(await sql.query('select id from read.approval_start')).to.deep.equal([]);
  });

  it('is the same when the whole log is applied in one batch', async () => {
    const { events, sql } = rig;
    await settle();
    const tableOf = (name: string): string => `read.again_${name}`;
    for (const statement of [...approvals.create(tableOf), ...(approvals.indexes?.(tableOf) ?? [])]) {
      await sql.query(statement);
    }
    const log = (await events.readAll(null, 10_000)).flatMap((stored) => projectedEvent(stored) ?? []);
    await sql.transaction((inside) =>
      approvals.apply({ events: log, log: [], sql: inside, tableOf, open: openSample }),
    );
    expect(await rowsOf(sql, 'read.again_approval')).to.equal(await rowsOf(sql, 'read.approval'));
  });
});

const COURSE = [
  'ApprovalVoteCast',
  'ApprovalGranted',
  'CommitScheduled',
  'CommitStarted',
  'CommitAttemptFailed',
  'ActionOutcomesRecorded',
  'ActionsReconciled',
] as const satisfies readonly AnyEvent['type'][];
const ENDS = [
  'ApprovalRejected',
  'ApprovalCancelled',
  'ApprovalExpired',
  'ApprovalCommitted',
] as const satisfies readonly AnyEvent['type'][];

/** Anything after anything: both sides fold whatever the log holds. */
const history: fc.Arbitrary<Fact<AnyEvent>[]> = fc.array(
  fc
    .record({
      type: fc.oneof(
        { arbitrary: fc.constantFrom(...COURSE), weight: 9 },
        { arbitrary: fc.constantFrom(...ENDS), weight: 1 },
      ),
      hours: fc.integer({ min: -5, max: 10 }),
      outcome: fc.constantFrom('done', 'unknown'),
    })
    .map(({ type, hours, outcome }) => {
      const results = SAMPLE_EVENTS.ActionOutcomesRecorded.results.map((result) => ({ ...result, outcome }));
      const moments = { commit_at: inHours(hours), expires_at: inHours(hours), commit_by: inHours(hours) };
      const data: object = { ...SAMPLE_EVENTS[type] };
      const changes = Object.fromEntries(
        Object.entries({ ...moments, results }).filter(([name]) => name in data),
      );
      return { type, data: { ...data, ...changes } } as Fact<AnyEvent>;
    }),
  { maxLength: 6 },
);
