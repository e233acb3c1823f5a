import { expect } from 'chai';
import type { ApprovalState, Committing } from '../../../../commands/operations/approval-state.ts';
import { attemptFailed, commitOutcome } from '../../../../commands/operations/commit-kind.ts';
import type { ItemResult } from '../../../../commands/operations/operation-events.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const after = (minutes: number): string => new Date(NOW.getTime() + minutes * 60_000).toISOString();

/** The part of an approval that its outcome depends on, with its first commit started now. */
const attempt = { number: 1, startedAt: NOW.toISOString(), firstAt: NOW.toISOString(), error: null };
const committing = {
  phase: 'committing',
  attempt,
  terms: { auto_commit: false, undo_seconds: 0 },
} as Committing;

const item = (outcome: ItemResult['outcome'], code?: string): ItemResult => ({
  message_id: `msg_${String(Math.random())}`,
  step: 0,
  action: 'archive',
  outcome,
  ...(code === undefined ? {} : { error: { code, message: code } }),
});
const cutOff = item('failed', 'mailbox_unavailable');

const typesOf = (approval: ApprovalState | null, ...results: readonly ItemResult[]): readonly string[] =>
  commitOutcome(approval, results, NOW).map(({ type }) => type);

describe(`commitOutcome ${verifies('contract:10:commit-unknown', 'contract:10:attempt-failed')}`, () => {
  it('ends the approval when anything was done or everything was refused permanently', () => {
    expect(typesOf(committing, item('done'))).to.deep.equal(['ApprovalCommitted']);
    expect(typesOf(committing, item('done'), item('failed', 'provider_rejected'))).to.deep.equal([
      'ApprovalCommitted',
    ]);
    expect(typesOf(committing, item('failed', 'provider_rejected'))).to.deep.equal(['ApprovalCommitFailed']);
    expect(typesOf(committing, item('failed', 'message_stale'))).to.deep.equal(['ApprovalCommitFailed']);
  });

  it('records nothing when an outcome is unknown', () => {
    expect(typesOf(committing, item('done'), item('unknown'))).to.deep.equal([]);
  });

  it('returns the approval for another attempt when nothing was done', () => {
    expect(typesOf(committing, cutOff, item('skipped'))).to.deep.equal(['CommitAttemptFailed']);
    expect(typesOf(committing, cutOff, item('failed', 'message_stale'))).to.deep.equal([
      'CommitAttemptFailed',
    ]);
    expect(typesOf(committing, cutOff, item('failed', 'provider_rejected'))).to.deep.equal([
      'ApprovalCommitFailed',
    ]);
  });

  it('records nothing without an approval that is being committed', () => {
    expect(typesOf(null, item('done'))).to.deep.equal([]);
    expect(typesOf({ ...committing, phase: 'granted' }, item('done'))).to.deep.equal([]);
  });

  it('schedules retries after 1, 5, 15 and 30 minutes, for a day from the first attempt', () => {
    const own = { ...committing, terms: { ...committing.terms, auto_commit: true } };
    const facts = commitOutcome(own, [cutOff], NOW);
    expect(facts.map(({ data }) => data)).to.deep.include({ commit_at: after(1), why: 'retry' });
    const error = { code: 'mailbox_unavailable', message: 'No connection.' };
    const retryAt = (number: number, now = NOW) =>
      attemptFailed({ ...attempt, number, startedAt: now.toISOString() }, { error, isRetried: true, now });
    for (const [number, minutes] of [
      [2, 5],
      [3, 15],
      [4, 30],
      [9, 30],
    ] as const)
      expect(retryAt(number)[1]?.data).to.deep.equal({ commit_at: after(minutes), why: 'retry' });
    const late = new Date(NOW.getTime() + (24 * 60 - 10) * 60_000);
    const last = retryAt(50, late);
    expect(last.map(({ type }) => type)).to.deep.equal(['CommitAttemptFailed']);
    expect(last[0]?.data).to.include({ expires_at: after(2 * 24 * 60 - 10) });
  });
});
