import { expect } from 'chai';
import {
  type HoldTerms,
  legalHold,
  type legalHoldEvents,
  placeHold,
  postponeErasure,
  releaseByOperator,
  releaseHold,
} from '../../../../commands/legal-holds/legal-hold.ts';
import type { Fact } from '../../../../commands/values/event.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { given } from '../../../support/suite/decider-spec.ts';
import { verifies } from '../../../support/suite/verifies.ts';

type HoldFact = Fact<(typeof legalHoldEvents)[number]>;

const reason = 'sealed' as Sealed;
const TERMS: HoldTerms = { name: 'Example v. Sample', reason, targets: [{ type: 'mailbox', id: 'mbx_1' }] };
const PLACED: HoldFact = { type: 'LegalHoldPlaced', data: TERMS };
/** By `usr_1`, the author of the facts of a spec. */
const REQUESTED: HoldFact = { type: 'LegalHoldReleaseRequested', data: { reason } };
const RELEASED: HoldFact = { type: 'LegalHoldReleased', data: { reason } };
const POSTPONED: HoldFact = { type: 'PersonalDataErasurePostponed', data: { owner_id: 'usr_9' } };

describe('a legal hold', () => {
  it('is placed once', () => {
    given(legalHold)
      .when((state) => placeHold(state, TERMS))
      .then(PLACED);
    given(legalHold, PLACED)
      .when((state) => placeHold(state, TERMS))
      .then();
  });

  it(`is released by two people ${verifies('contract:12:hold-release')}`, () => {
    const by = (userId: string) => (state: typeof legalHold.initial) =>
      releaseHold(state, { userId, reason });
    given(legalHold).when(by('usr_1')).thenRefused('not_found');
    given(legalHold, PLACED).when(by('usr_1')).then(REQUESTED);
    given(legalHold, PLACED, REQUESTED).when(by('usr_1')).thenRefused('self_approval_forbidden');
    given(legalHold, PLACED, REQUESTED).when(by('usr_2')).then(RELEASED);
    given(legalHold, PLACED, REQUESTED, RELEASED).when(by('usr_2')).then();
  });

  it(`is released by the operator where there is no second person ${verifies('contract:12:hold-operator')}`, () => {
    const with_ =
      (...eligible: readonly string[]) =>
      (state: typeof legalHold.initial) =>
        releaseByOperator(state, { eligible, reason });
    given(legalHold).when(with_()).thenRefused('not_found');
    const early = given(legalHold, PLACED).when(with_('usr_1')).thenRefused('conflict');
    expect(early.message).to.include('ask for the release first').and.to.include('usr_1');
    const others = given(legalHold, PLACED, REQUESTED).when(with_('usr_1', 'usr_2')).thenRefused('conflict');
    expect(others.message).to.include('usr_2').and.not.to.include('usr_1');
    given(legalHold, PLACED, REQUESTED).when(with_('usr_1')).then(RELEASED);
    given(legalHold, PLACED, REQUESTED).when(with_()).then(RELEASED);
    given(legalHold, PLACED).when(with_()).then(REQUESTED, RELEASED);
    given(legalHold, PLACED, REQUESTED, RELEASED).when(with_('usr_2')).then();
  });

  it('notes each erasure that waits once, and none after its release', () => {
    const met = (id: string) => (state: typeof legalHold.initial) => postponeErasure(state, id);
    given(legalHold, PLACED).when(met('usr_9')).then(POSTPONED);
    given(legalHold, PLACED, POSTPONED).when(met('usr_9')).then();
    given(legalHold, PLACED, REQUESTED, POSTPONED)
      .when(met('mbx_1'))
      .then({
        type: 'PersonalDataErasurePostponed',
        data: { owner_id: 'mbx_1' },
      });
    given(legalHold, PLACED, REQUESTED, RELEASED).when(met('usr_9')).then();
  });
});
