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

describe('connection state of a mailbox', () => {
  it(`goes from pending over connecting to connected ${verifies('contract:4:mailbox-connects')}`, () => {
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

  it('records the first attempt, not the retries', () => {
    for (const fact of [started, failed('refused'), connected]) {
      given(mailbox, ...added, fact)
        .when(startConnecting)
        .then();
    }
  });

  it('records a failure once, and another reason again', () => {
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

  it('records a connected mailbox again only when its capabilities changed', () => {
    given(mailbox, ...added, connected)
      .when((state) => recordConnected(state, ['IDLE']))
      .then();
    given(mailbox, ...added, connected)
      .when((state) => recordConnected(state, ['IDLE', 'MOVE']))
      .then({ type: 'MailboxConnected', data: { capabilities: ['IDLE', 'MOVE'] } });
  });

  it('ignores late attempts when the mailbox is paused or removed', () => {
    for (const rest of resting) {
      const mailboxAtRest = given(mailbox, ...added, connected, rest);
      mailboxAtRest.when(startConnecting).then();
      mailboxAtRest.when((state) => recordConnected(state, [])).then();
      mailboxAtRest.when((state) => recordConnectionFailed(state, 'x')).then();
      mailboxAtRest.when((state) => recordAuthFailed(state, 'x')).then();
    }
  });
});
