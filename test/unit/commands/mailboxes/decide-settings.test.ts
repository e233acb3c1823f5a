import { expect } from 'chai';
import { MAILBOX_SCOPES } from '../../../../commands/values/scopes.ts';
import {
  addMailbox,
  changeMailboxSettings,
  eraseMailbox,
  removeMailbox,
  storeCredentials,
} from '../../../../commands/mailboxes/decide-settings.ts';
import { assertVersion, mailbox } from '../../../../commands/mailboxes/mailbox.ts';
import { given, NOW, stateAfter } from '../../../support/suite/decider-spec.ts';
import { ADD, added, IMAP, sealed, SMTP } from '../../../support/samples/mailbox-facts.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const change = { auth: undefined, now: NOW };
const paused = { type: 'MailboxPaused', data: {} } as const;
const removedUntil = (eraseAt: string) => ({ type: 'MailboxRemoved', data: { erase_at: eraseAt } }) as const;
const LATER = '2026-03-08T12:00:00.000Z';
const BEFORE = '2026-03-01T11:59:59.999Z';

describe('addMailbox', () => {
  it("records mailbox, credentials and the creator's grant together", () => {
    given(mailbox)
      .when((state) => addMailbox(state, ADD))
      .then(
        {
          type: 'MailboxAdded',
          data: {
            number: 7,
            email: sealed('box@example.com'),
            display_name: null,
            provider: 'imap',
            auth_type: 'password',
            imap: IMAP,
            smtp: SMTP,
          },
        },
        { type: 'MailboxCredentialsStored', data: {} },
        {
          type: 'GrantGiven',
          data: {
            grant_id: 'grt_1',
            principal_id: 'usr_1',
            principal_kind: 'user',
            scopes: [...MAILBOX_SCOPES],
            folder_roles: null,
            expires_at: null,
            quotas: null,
          },
        },
      );
  });

  it('is refused when the id is taken', () => {
    given(mailbox, ...added)
      .when((state) => addMailbox(state, ADD))
      .thenRefused('conflict');
  });
});

describe('changeMailboxSettings', () => {
  const otherImap = { ...IMAP, port: 143, security: 'starttls' } as const;

  it(`refuses another host, port or security without credentials ${verifies('contract:17:update-mailbox')}`, () => {
    for (const imap of [
      otherImap,
      { ...IMAP, host: 'evil.example' },
      { ...IMAP, security: 'none' as const },
    ]) {
      const refused = given(mailbox, ...added)
        .when((state) => changeMailboxSettings(state, { ...change, imap }))
        .thenRefused('invalid_request');
      expect(refused.details).to.have.nested.property('issues[0].path', 'auth');
    }
    given(mailbox, ...added)
      .when((state) => changeMailboxSettings(state, { ...change, smtp: { ...SMTP, port: 587 } }))
      .thenRefused('invalid_request');
  });

  it('accepts them with credentials', () => {
    given(mailbox, ...added)
      .when((state) =>
        changeMailboxSettings(state, { ...change, imap: otherImap, auth: { type: 'password' } }),
      )
      .then(
        { type: 'MailboxChanged', data: { imap: otherImap } },
        { type: 'MailboxCredentialsStored', data: {} },
      );
  });

  it('records nothing when the settings stay the same', () => {
    given(mailbox, ...added)
      .when((state) =>
        changeMailboxSettings(state, {
          ...change,
          imap: IMAP,
          smtp: SMTP,
          trustedAuthservIds: [],
          paused: false,
        }),
      )
      .then();
  });

  it('clears and sets single fields', () => {
    given(mailbox, ...added)
      .when((state) =>
        changeMailboxSettings(state, {
          ...change,
          displayName: null,
          trustedAuthservIds: ['mx.example.com'],
        }),
      )
      .then({
        type: 'MailboxChanged',
        data: { display_name: null, trusted_authserv_ids: ['mx.example.com'] },
      });
  });

  it('pauses once and resumes once', () => {
    given(mailbox, ...added)
      .when((state) => changeMailboxSettings(state, { ...change, paused: true }))
      .then(paused);
    given(mailbox, ...added, paused)
      .when((state) => changeMailboxSettings(state, { ...change, paused: true }))
      .then();
    given(mailbox, ...added, paused)
      .when((state) => changeMailboxSettings(state, { ...change, paused: false }))
      .then({ type: 'MailboxResumed', data: {} });
  });

  it('is refused for a removed mailbox that was not restored', () => {
    given(mailbox, ...added, removedUntil(LATER))
      .when((state) => changeMailboxSettings(state, { ...change, displayName: null }))
      .thenRefused('conflict');
    given(mailbox, ...added, removedUntil(LATER))
      .when((state) => changeMailboxSettings(state, { ...change, restore: true, displayName: null }))
      .then({ type: 'MailboxRestored', data: {} }, { type: 'MailboxChanged', data: { display_name: null } });
    given(mailbox, ...added, removedUntil(BEFORE))
      .when((state) => changeMailboxSettings(state, { ...change, restore: true }))
      .thenRefused('conflict');
  });

  it('reports not_found for an unknown or erased mailbox', () => {
    given(mailbox)
      .when((state) => changeMailboxSettings(state, change))
      .thenRefused('not_found');
    given(mailbox, ...added, removedUntil(BEFORE), { type: 'MailboxErased', data: {} })
      .when((state) => changeMailboxSettings(state, { ...change, restore: true }))
      .thenRefused('not_found');
  });
});

describe('storeCredentials', () => {
  it('returns a failed mailbox to pending, but not a paused one', () => {
    const failed = { type: 'MailboxAuthFailed', data: { reason: 'login' } } as const;
    const stored = storeCredentials(stateAfter(mailbox, added));
    expect(stateAfter(mailbox, [...added, failed, ...stored])).to.include({
      state: 'pending',
      stateReason: null,
    });
    expect(stateAfter(mailbox, [...added, paused, ...stored]).state).to.equal('paused');
  });
});

describe('removeMailbox', () => {
  it('allows seven days to restore the mailbox', () => {
    given(mailbox, ...added)
      .when((state) => removeMailbox(state, NOW))
      .then(removedUntil(LATER));
    given(mailbox, ...added, removedUntil(LATER))
      .when((state) => removeMailbox(state, NOW))
      .then();
  });

  it('leads to one erasure after seven days, not earlier', () => {
    given(mailbox, ...added, removedUntil(LATER))
      .when((state) => eraseMailbox(state, NOW))
      .then();
    given(mailbox, ...added, removedUntil(BEFORE))
      .when((state) => eraseMailbox(state, NOW))
      .then({ type: 'MailboxErased', data: {} });
    given(mailbox, ...added, removedUntil(BEFORE), { type: 'MailboxErased', data: {} })
      .when((state) => eraseMailbox(state, NOW))
      .then();
  });
});

describe('assertVersion', () => {
  it('compares If-Match with the number of events', () => {
    const state = stateAfter(mailbox, added);
    expect(state.version).to.equal(3);
    for (const ifMatch of [null, '*', '3']) assertVersion(state, ifMatch);
    expect(() => {
      assertVersion(state, '2');
    }).to.throw('changed since');
  });
});
