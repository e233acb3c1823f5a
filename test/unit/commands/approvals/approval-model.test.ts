import { expect } from 'chai';
import fc from 'fast-check';
import { brokenApprovalRules } from '../../../support/models/approval-invariants.ts';
import { brokenEnvelopeRules } from '../../../support/models/envelope-rules.ts';
import { ApprovalHistory } from '../../../support/models/approval-history.ts';
import { histories, type Step } from '../../../support/models/approval-steps.ts';
import { DECIDERS } from '../../../support/worlds/approval-world.ts';
import { timesOf } from '../../../support/suite/long.ts';
import { verifies } from '../../../support/suite/verifies.ts';

async function check(history: ApprovalHistory, step: Step): Promise<void> {
  const after = JSON.stringify(step);
  for (const pair of history.pairs) {
    const events = await history.streamOf(pair.real);
    expect(brokenApprovalRules(events, DECIDERS), after).to.deep.equal([]);
    expect(brokenEnvelopeRules(events), after).to.deep.equal([]);
    expect(await history.statusOf(pair.real), after).to.equal(history.modelStatus(pair));
    expect(history.isDone(pair), `done ${after}`).to.equal(pair.model.isDone);
    expect(history.effectsOf(pair), `effects ${after}`).to.equal(pair.model.isDone ? 1 : 0);
    const draft = await history.draftStatusOf(pair);
    if (draft !== null) expect(draft, after).to.be.oneOf(history.draftsAllowed(pair));
  }
  expect(history.unintended, after).to.deep.equal([]);
}

describe('an approval under random histories', () => {
  it(`follows the state table and runs nothing that was not approved ${verifies('contract:10:one-end', 'contract:9:one-vote', 'contract:9:commit-checks', 'contract:10:expiry', 'contract:10:attempt-failed', 'contract:12:approval-lines')}`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (steps) => {
        const history = await ApprovalHistory.begin();
        for (const step of steps) {
          await history.take(step);
          await check(history, step);
        }
      }),
      { numRuns: timesOf(250, 2_500) },
    );
  });
});
