import { expect } from 'chai';
import {
  recordAuthFailed,
  recordConnected,
  recordConnectionFailed,
  startConnecting,
} from '../../../../commands/mailboxes/decide-connection.ts';
import { mailbox, type MailboxFact } from '../../../../commands/mailboxes/mailbox.ts';
import { given, stateAfter } from '../../../support/suite/decider-spec.ts';
import { added, connected } from '../../../support/samples/mailbox-facts.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const started: MailboxFact = { type: 'MailboxConnectionStarted', data: {} };
const failed = (reason: string): MailboxFact => ({ type: 'MailboxConnectionFailed', data: { reason } });
const refused: MailboxFact = { type: 'MailboxAuthFailed', data: { reason: 'login' } };
const resting: readonly MailboxFact[] = [
  { type: 'MailboxPaused', data: {} },
  { type: 'MailboxRemoved', data: { erase_at: '2026-03-08T12:00:00.000Z' } },
];

describe('the connection state of a mailbox', () => {
  it(`goes pending → connecting → connected ${verifies('contract:4:mailbox-connects')}`, () => {
    expect(stateAfter(mailbox, added).state).to.equal('pending');
    given(mailbox, ...added)
      .when(startConnecting)
      .then(started);
    given(mailbox, ...added, started)
      .when((state) => recordConnected(state, ['IDLE']))
      .then(connected);
    expect(stateAfter(mailbox, [...added, started, connected])).to.include({
      state: 'connected',
      stateReason: null,
    });
  });

  it('tells only the first attempt, not the retries', () => {
    for (const fact of [started, failed('refused'), connected]) {
      given(mailbox, ...added, fact)
        .when(startConnecting)
        .then();
    }
  });

  it('tells the same failure once and another reason again', () => {
    given(mailbox, ...added, failed('refused'))
      .when((state) => recordConnectionFailed(state, 'refused'))
      .then();
    given(mailbox, ...added, failed('refused'))
      .when((state) => recordConnectionFailed(state, 'timeout'))
      .then(failed('timeout'));
    given(mailbox, ...added, refused)
      .when((state) => recordAuthFailed(state, 'login'))
      .then();
  });

  it('recovers from either failure', () => {
    for (const fact of [failed('refused'), refused]) {
      given(mailbox, ...added, fact)
        .when((state) => recordConnected(state, ['IDLE']))
        .then(connected);
    }
  });

  it('tells a connected mailbox anew only when its server can do something else', () => {
    given(mailbox, ...added, connected)
      .when((state) => recordConnected(state, ['IDLE']))
      .then();
    given(mailbox, ...added, connected)
      .when((state) => recordConnected(state, ['IDLE', 'MOVE']))
      .then({ type: 'MailboxConnected', data: { capabilities: ['IDLE', 'MOVE'] } });
  });

  it('ignores what a late attempt says of a paused or removed mailbox', () => {
    for (const rest of resting) {
      const mailboxAtRest = given(mailbox, ...added, connected, rest);
      mailboxAtRest.when(startConnecting).then();
      mailboxAtRest.when((state) => recordConnected(state, [])).then();
      mailboxAtRest.when((state) => recordConnectionFailed(state, 'x')).then();
      mailboxAtRest.when((state) => recordAuthFailed(state, 'x')).then();
    }
  });
});
