import { expect } from 'chai';
import { hostsOf } from '../../../../commands/ports/mail-logins.ts';
import {
  assertAuthorizable,
  authorizeProvider,
  mayConnect,
  startConnecting,
  withdrawAuthorization,
} from '../../../../commands/mailboxes/decide-connection.ts';
import {
  addMailbox,
  changeMailboxSettings,
  storeCredentials,
} from '../../../../commands/mailboxes/decide-settings.ts';
import { mailbox, type MailboxFact } from '../../../../commands/mailboxes/mailbox.ts';
import { given } from '../../../support/suite/decider-spec.ts';
import { ADD, added, connected, IMAP, sealed, SMTP } from '../../../support/samples/mailbox-facts.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const GOOGLE = { type: 'oauth2', provider: 'google' } as const;
const addedWithGoogle = addMailbox(mailbox.initial, { ...ADD, auth: GOOGLE });
const authorized: MailboxFact = {
  type: 'MailboxProviderAuthorized',
  data: { provider: 'google', account: sealed('box@example.com') },
};
const removed: MailboxFact = { type: 'MailboxRemoved', data: { erase_at: '2026-03-08T12:00:00.000Z' } };
const restored: MailboxFact = { type: 'MailboxRestored', data: {} };
const command = {
  provider: 'google',
  account: sealed('box@example.com'),
  hosts: hostsOf({ imap: IMAP, smtp: SMTP }),
} as const;
const change = { auth: undefined, now: new Date('2026-03-01T12:00:00.000Z') };

describe('authorization of a mailbox at a provider', () => {
  it(`is required before the first attempt to connect ${verifies('contract:4:provider-waits')}`, () => {
    expect(addedWithGoogle.map(({ type }) => type)).to.deep.equal(['MailboxAdded', 'GrantGiven']);
    given(mailbox, ...addedWithGoogle)
      .when((state) => {
        expect(state).to.include({ state: 'pending', stateReason: 'authorization_required' });
        expect(mayConnect(state)).to.equal(false);
        return startConnecting(state);
      })
      .then();
    given(mailbox, ...addedWithGoogle, authorized)
      .when((state) => {
        expect(state).to.include({ state: 'pending', stateReason: null });
        return startConnecting(state);
      })
      .then({ type: 'MailboxConnectionStarted', data: {} });
  });

  it('is still required after a pause or a restored removal', () => {
    given(mailbox, ...addedWithGoogle, removed, restored)
      .when((state) => {
        expect(state).to.include({ state: 'pending', stateReason: 'authorization_required' });
        return startConnecting(state);
      })
      .then();
  });

  it('is for the provider and the hosts of the mailbox', () => {
    given(mailbox, ...addedWithGoogle)
      .when((state) => authorizeProvider(state, command))
      .then(authorized);
    given(mailbox, ...addedWithGoogle)
      .when((state) => authorizeProvider(state, { ...command, provider: 'microsoft' }))
      .thenRefused('conflict');
    given(mailbox, ...addedWithGoogle)
      .when((state) => authorizeProvider(state, { ...command, hosts: 'evil.example:993/tls' }))
      .thenRefused('conflict');
    given(mailbox, ...addedWithGoogle, removed)
      .when((state) => authorizeProvider(state, command))
      .thenRefused('conflict');
    expect(() => {
      assertAuthorizable(mailbox.initial, 'google');
    })
      .to.throw()
      .with.property('code', 'not_found');
  });

  it(`excludes a password, and requires one when the mailbox leaves the provider ${verifies('contract:17:provider-auth-field')}`, () => {
    given(mailbox, ...addedWithGoogle, authorized)
      .when(storeCredentials)
      .thenRefused('conflict');
    given(mailbox, ...addedWithGoogle, authorized)
      .when((state) => changeMailboxSettings(state, { ...change, auth: { type: 'password' } }))
      .then(
        { type: 'MailboxChanged', data: { auth_type: 'password', provider: 'imap' } },
        { type: 'MailboxCredentialsStored', data: {} },
      );
  });

  it('is required again when the provider is named again or hosts change', () => {
    const otherImap = { ...IMAP, host: 'other.example.com' };
    given(mailbox, ...addedWithGoogle, authorized, connected)
      .when((state) => changeMailboxSettings(state, { ...change, imap: otherImap }))
      .thenRefused('invalid_request');
    given(mailbox, ...addedWithGoogle, authorized, connected)
      .when((state) => changeMailboxSettings(state, { ...change, imap: otherImap, auth: GOOGLE }))
      .then({
        type: 'MailboxChanged',
        data: { auth_type: 'oauth2', provider: 'google', imap: otherImap },
      });
    given(mailbox, ...added, connected, {
      type: 'MailboxChanged',
      data: { auth_type: 'oauth2', provider: 'google' },
    })
      .when(startConnecting)
      .then();
  });

  it(`ends once ${verifies('contract:17:provider-withdrawal')}`, () => {
    given(mailbox, ...addedWithGoogle, authorized, connected)
      .when((state) => withdrawAuthorization(state, true))
      .then({
        type: 'MailboxProviderAuthorizationWithdrawn',
        data: { provider: 'google', revoked: true },
      });
    given(mailbox, ...addedWithGoogle)
      .when((state) => withdrawAuthorization(state, true))
      .then();
    given(mailbox, ...added)
      .when((state) => withdrawAuthorization(state, true))
      .thenRefused('conflict');
  });
});
