import { expect } from 'chai';
import { operation } from '../../../../commands/operations/operation.ts';
import { countsOf, progressOf } from '../../../../commands/operations/approval-reply.ts';
import type { ItemResult, SendOutcome } from '../../../../commands/operations/operation-events.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const results = (...outcomes: readonly ItemResult['outcome'][]): readonly ItemResult[] =>
  outcomes.map((outcome, index) => ({
    message_id: `msg_${String(index)}`,
    step: 0,
    action: 'move',
    outcome,
  }));

const ofActions = (...outcomes: readonly ItemResult['outcome'][]): string =>
  progressOf(countsOf({ ...operation.initial, results: results(...outcomes) }));

const ofSend = (outcome: SendOutcome['outcome'] | null): string =>
  progressOf(
    countsOf({
      ...operation.initial,
      send: {
        draftId: 'drf_1',
        draftVersion: 1,
        intendedAt: '2026-01-01T00:00:00.000Z',
        commitAt: null,
        recorded: null,
        outcome: outcome && { outcome, error: null },
      },
    }),
  );

describe('progressOf', () => {
  it(`is running until outcomes exist, and unknown while any outcome is ${verifies('contract:10:operation-state')}`, () => {
    expect(progressOf(countsOf(operation.initial))).to.equal('running');
    expect(ofActions('done', 'unknown', 'failed')).to.equal('unknown');
    expect(ofActions('failed', 'failed')).to.equal('failed');
    expect(ofActions('failed', 'skipped')).to.equal('failed');
    expect(ofActions('done', 'failed')).to.equal('completed');
    expect(ofActions('skipped')).to.equal('completed');
  });

  it('follows the one message of a send', () => {
    expect(([null, 'done', 'failed', 'unknown'] as const).map(ofSend)).to.deep.equal([
      'running', 'completed', 'failed', 'unknown',
    ]); // prettier-ignore
  });
});
