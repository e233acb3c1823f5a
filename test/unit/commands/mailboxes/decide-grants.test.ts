import { expect } from 'chai';
import { changeGrant, giveGrant, revokeGrant } from '../../../../commands/mailboxes/decide-grants.ts';
import { type GrantTerms, mailbox } from '../../../../commands/mailboxes/mailbox.ts';
import { given, NOW, stateAfter } from '../../../support/suite/decider-spec.ts';
import { added, grantGiven } from '../../../support/samples/mailbox-facts.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const giver = { principalId: 'usr_1', now: NOW };
const narrow = { principalId: 'usr_2', now: NOW };
const READ: GrantTerms = { scopes: ['messages:read'], folderRoles: null, expiresAt: null, quotas: null };
const toAgent = (terms: GrantTerms) => ({
  grantId: 'grt_9',
  principal: { id: 'agt_1', kind: 'agent' as const },
  terms,
});
const EARLIER = '2026-02-28T00:00:00.000Z';
const SOON = '2026-03-02T00:00:00.000Z';
const LATE = '2026-04-01T00:00:00.000Z';

describe('giveGrant', () => {
  it('records principal and terms', () => {
    given(mailbox, ...added)
      .when((state) => giveGrant(state, giver, toAgent({ ...READ, folderRoles: ['inbox'], expiresAt: SOON })))
      .then({
        type: 'GrantGiven',
        data: {
          grant_id: 'grt_9',
          principal_id: 'agt_1',
          principal_kind: 'agent',
          scopes: ['messages:read'],
          folder_roles: ['inbox'],
          expires_at: SOON,
          quotas: null,
        },
      });
  });

  it('is refused when the principal has a grant', () => {
    const refused = given(mailbox, ...added, grantGiven('grt_2', 'agt_1'))
      .when((state) => giveGrant(state, giver, toAgent(READ)))
      .thenRefused('conflict');
    expect(refused.details).to.deep.equal({ grant_id: 'grt_2' });
  });

  it(`allows wider terms in a session when the password is fresh ${verifies('contract:3:wider-in-session')}`, () => {
    const wide = toAgent({ ...READ, scopes: ['messages:read', 'messages:expunge'] });
    const give = (wider: 'allowed' | 'after-step-up', command = wide) =>
      given(mailbox, ...added).when((state) => giveGrant(state, { ...narrow, wider }, command));
    give('after-step-up').thenRefused('step_up_required');
    const state = stateAfter(mailbox, added);
    expect(giveGrant(state, { ...narrow, wider: 'allowed' }, wide)).to.have.length(1);
    // Terms within the giver's grant need no fresh password.
    expect(giveGrant(state, { ...giver, wider: 'after-step-up' }, toAgent(READ))).to.have.length(1);
  });

  it(`refuses terms wider than the giver's grant in scopes, folders, time or quotas ${verifies('contract:3:grant-within')}`, () => {
    const bound = grantGiven('grt_2', 'usr_2', ['messages:read'], {
      folder_roles: ['inbox'],
      expires_at: SOON,
      quotas: { sends_per_hour: 5 },
    });
    const give = (terms: GrantTerms) =>
      given(mailbox, ...added, bound).when((state) => giveGrant(state, narrow, toAgent(terms)));
    const within: GrantTerms = {
      scopes: ['messages:read'],
      folderRoles: ['inbox'],
      expiresAt: SOON,
      quotas: { sends_per_hour: 5 },
    };
    expect(giveGrant(stateAfter(mailbox, [...added, bound]), narrow, toAgent(within))).to.have.length(1);
    const refused = give({ ...within, scopes: ['messages:read', 'messages:move'] }).thenRefused(
      'insufficient_scope',
    );
    expect(refused.details).to.deep.equal({ required: ['messages:move'] });
    give({ ...within, folderRoles: ['inbox', 'archive'] }).thenRefused('insufficient_scope');
    give({ ...within, folderRoles: null }).thenRefused('insufficient_scope');
    give({ ...within, expiresAt: LATE }).thenRefused('insufficient_scope');
    give({ ...within, expiresAt: null }).thenRefused('insufficient_scope');
    give({ ...within, quotas: { sends_per_hour: 6 } }).thenRefused('insufficient_scope');
    give({ ...within, quotas: null }).thenRefused('insufficient_scope');
  });

  it("requires that the giver's grant has not expired", () => {
    const over = grantGiven('grt_2', 'usr_2', ['messages:read'], { expires_at: EARLIER });
    for (const past of [added, [...added, over]]) {
      given(mailbox, ...past)
        .when((state) => giveGrant(state, narrow, toAgent(READ)))
        .thenRefused('insufficient_scope');
    }
  });
});

describe('changeGrant', () => {
  const agents = grantGiven('grt_2', 'agt_1', ['messages:read', 'messages:move']);

  it("narrows a grant, whatever the giver's grant is", () => {
    given(mailbox, ...added, agents)
      .when((state) =>
        changeGrant(state, narrow, {
          grantId: 'grt_2',
          change: { scopes: ['messages:read'], expiresAt: SOON },
        }),
      )
      .then({
        type: 'GrantChanged',
        data: {
          grant_id: 'grt_2',
          scopes: ['messages:read'],
          folder_roles: null,
          expires_at: SOON,
          quotas: null,
        },
      });
  });

  it("widens a grant only within the giver's grant", () => {
    const change = { scopes: ['messages:read', 'messages:flag'] as const };
    given(mailbox, ...added, agents)
      .when((state) => changeGrant(state, narrow, { grantId: 'grt_2', change }))
      .thenRefused('insufficient_scope');
    expect(
      changeGrant(stateAfter(mailbox, [...added, agents]), giver, { grantId: 'grt_2', change }),
    ).to.have.length(1);
  });

  it('records nothing for the same terms, and reports not_found for an unknown id', () => {
    given(mailbox, ...added, agents)
      .when((state) => changeGrant(state, giver, { grantId: 'grt_2', change: { folderRoles: null } }))
      .then();
    given(mailbox, ...added)
      .when((state) => changeGrant(state, giver, { grantId: 'grt_2', change: {} }))
      .thenRefused('not_found');
  });
});

describe('revokeGrant', () => {
  it('allows another grant for the principal', () => {
    const revoked = { type: 'GrantRevoked', data: { grant_id: 'grt_2' } } as const;
    given(mailbox, ...added, grantGiven('grt_2', 'agt_1'))
      .when((state) => revokeGrant(state, 'grt_2'))
      .then(revoked);
    given(mailbox, ...added, grantGiven('grt_2', 'agt_1'), revoked)
      .when((state) => revokeGrant(state, 'grt_2'))
      .thenRefused('not_found');
    expect(
      giveGrant(stateAfter(mailbox, [...added, grantGiven('grt_2', 'agt_1'), revoked]), giver, toAgent(READ)),
    ).to.have.length(1);
  });
});
