import { expect } from 'chai';
import { allEvents, type AnyEvent } from '../../../commands/event-catalogue.ts';
import type { PastFact } from '../../../commands/values/event.ts';
import { auditFacts } from '../../../projections/audit-facts.ts';
import { AUDIT_OUTCOMES } from '../../../projections/audit-outcomes.ts';
import { projectedEvent } from '../../../projections/projection.ts';
import { openSealedFields } from '../../../projections/sealed-fields.ts';
import { MemoryEventStore } from '../../support/fakes/memory-event-store.ts';
import { openSample, sealSample } from '../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { sampleHistory } from '../../support/samples/sample-history.ts';
import { verifies } from '../../support/suite/verifies.ts';

const anyData = { capability: 'archive', code: 'not_found', mailbox_id: null };

const factsOf = (type: string, data: object): ReturnType<typeof auditFacts> =>
  auditFacts({ type, data } as unknown as PastFact<AnyEvent>);

describe('auditFacts', () => {
  it('has an action and an outcome for every event of the catalogue', () => {
    for (const { type } of allEvents) {
      const { action, outcome } = factsOf(type, SAMPLE_EVENTS[type]);
      expect(action, type).to.match(/^[a-z][a-z_.]+$/);
      expect(AUDIT_OUTCOMES, type).to.include(outcome);
    }
  });

  it('distinguishes a refusal of the caller from a request that failed', () => {
    const outcomes = ['insufficient_scope', 'not_found', 'token_revoked', 'rate_limited'].map(
      (code) => factsOf('RequestRefused', { ...anyData, code }).outcome,
    );
    expect(outcomes).to.deep.equal(['denied', 'denied', 'denied', 'denied']);
    expect(factsOf('RequestRefused', { ...anyData, code: 'conflict' }).outcome).to.equal('failed');
    expect(factsOf('RequestRefused', { ...anyData, code: 'no such code' }).outcome).to.equal('failed');
  });

  it('follows an operation from pending to its outcome', () => {
    const summary = { done: 1, failed: 0, unknown: 0 };
    const end = (counts: object) =>
      factsOf('OperationCompleted', { summary: { ...summary, ...counts } }).outcome;
    expect(factsOf('OperationSubmitted', anyData).outcome).to.equal('pending');
    expect([end({}), end({ failed: 1 }), end({ failed: 1, unknown: 1 })]).to.deep.equal([
      'allowed',
      'failed',
      'pending',
    ]);
  });

  it(`names the rule that decided ${verifies('contract:8:names-rule')}`, () => {
    const decided = { decision: 'require', rule_id: 'r1', policy_version: 3 };
    const { outcome, policy } = factsOf('OperationDecided', decided);
    expect({ outcome, policy }).to.deep.equal({
      outcome: 'pending',
      policy: { decision: 'require', rule_id: 'r1', version: 3 },
    });
  });

  it('takes resource and mailbox from the stream when the data do not name them', async () => {
    const events = new MemoryEventStore();
    await sampleHistory(events);
    const facts = events.all.flatMap((stored) => {
      const event = projectedEvent(stored);
      return event ? [auditFacts(event.fact)] : [];
    });
    expect(facts.filter(({ resource }) => resource?.type === 'grant')).to.have.length(2);
    expect(facts.filter(({ mailboxId }) => mailboxId === undefined)).not.to.have.length(0);
  });
});

describe('openSealedFields', () => {
  it(`opens sealed fields, and nothing that only looks sealed ${verifies('contract:12:sealed')}`, async () => {
    const data = { reason: sealSample('because'), mailbox_id: sealSample('stolen') };
    expect(await openSealedFields('OperationSubmitted', data, openSample)).to.deep.equal({
      reason: 'because',
      mailbox_id: 'sealed:stolen',
    });
    const erased = await openSealedFields('OperationSubmitted', data, () => Promise.resolve(null));
    expect(erased['reason']).to.equal(null);
  });

  it(`opens sealed fields anywhere in the data ${verifies('contract:12:sealed')}`, async () => {
    for (const { type } of allEvents) {
      const opened = await openSealedFields(type, SAMPLE_EVENTS[type], openSample);
      expect(JSON.stringify(opened), type).not.to.include(sealSample(''));
    }
    const rejected = [
      { address: sealSample('ann@example.com'), smtp_status: 550, response: sealSample('no') },
    ];
    const sent = { attempt: 1, response: null, rejected, message_id: sealSample('stolen') };
    expect(await openSealedFields('DraftSent', sent, openSample)).to.deep.equal({
      ...sent,
      rejected: [{ address: 'ann@example.com', smtp_status: 550, response: 'no' }],
    });
  });

  it('leaves data of an earlier schema unchanged', async () => {
    for (const data of [{ rejected: null }, { rejected: ['text'] }, { rejected: 'text' }, {}]) {
      expect(await openSealedFields('DraftSent', data, openSample)).to.deep.equal(data);
    }
  });
});
