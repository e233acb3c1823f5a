import { expect } from 'chai';
import { endSession, session, startSession, stepUp } from '../../../../commands/accounts/session.ts';
import { given, NOW } from '../../../support/suite/decider-spec.ts';
import { sealSample } from '../../../support/samples/event-author.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const later = (milliseconds: number): string => new Date(NOW.getTime() + milliseconds).toISOString();
const HOUR_MS = 3_600_000;
const QUARTER_MS = 15 * 60_000;

const started = {
  type: 'SessionStarted',
  data: {
    user_id: 'usr_1',
    secret_hash: sealSample('abc'),
    expires_at: later(12 * HOUR_MS),
    stepped_up_until: later(QUARTER_MS),
  },
} as const;
const ended = { type: 'SessionEnded', data: { user_id: 'usr_1', reason: 'logout' } } as const;
const start = { userId: 'usr_1', secretHash: sealSample('abc'), now: NOW };

describe('session decider', () => {
  it(`starts a session of at most twelve hours with a fresh password ${verifies('contract:2:session-ends', 'contract:18:step-up')}`, () => {
    given(session)
      .when((state) => startSession(state, start))
      .then(started);
  });

  it('refuses to start a session twice', () => {
    given(session, started)
      .when((state) => startSession(state, start))
      .thenRefused('conflict');
  });

  it(`steps up for a quarter of an hour from the moment of the call ${verifies('contract:18:step-up')}`, () => {
    const now = new Date(NOW.getTime() + HOUR_MS);
    given(session, started)
      .when((state) => stepUp(state, now))
      .then({ type: 'SessionSteppedUp', data: { user_id: 'usr_1', until: later(HOUR_MS + QUARTER_MS) } });
  });

  it('refuses to step up when the session has not started, has ended or has expired', () => {
    given(session)
      .when((state) => stepUp(state, NOW))
      .thenRefused('token_revoked');
    given(session, started, ended)
      .when((state) => stepUp(state, NOW))
      .thenRefused('token_revoked');
    given(session, started)
      .when((state) => stepUp(state, new Date(later(12 * HOUR_MS))))
      .thenRefused('token_expired');
  });

  it('ends a session once', () => {
    given(session, started)
      .when((state) => endSession(state, 'logout'))
      .then(ended);
    given(session, started, ended)
      .when((state) => endSession(state, 'revoked'))
      .then();
    given(session)
      .when((state) => endSession(state, 'logout'))
      .thenRefused('not_found');
  });

  it('evolves until when the password counts as fresh', () => {
    const until = later(HOUR_MS);
    const state = session.evolve(
      {
        userId: 'usr_1',
        expiresAt: later(2 * HOUR_MS),
        steppedUpUntil: later(0),
        isEnded: false,
        nextId: null,
      },
      { type: 'SessionSteppedUp', data: { user_id: 'usr_1', until }, meta: {} as never },
    );
    expect(state.steppedUpUntil).to.equal(until);
  });
});
