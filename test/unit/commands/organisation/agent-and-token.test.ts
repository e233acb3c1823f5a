import { expect } from 'chai';
import {
  agent,
  changeAgent,
  createAgent,
  deleteAgent,
  deleteLeftAgent,
  handOver,
} from '../../../../commands/organisation/agent.ts';
import { endExpiredInvite, invite, type inviteEvents } from '../../../../commands/organisation/invite.ts';
import { changeToken, revokeToken, token } from '../../../../commands/organisation/token.ts';
import type { Fact } from '../../../../commands/values/event.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { given, NOW } from '../../../support/suite/decider-spec.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const created = { type: 'AgentCreated', data: { owner_id: 'usr_1', name: 'Agent' } } as const;
const given2 = { type: 'AgentChanged', data: { owner_id: 'usr_2' } } as const;
const gone = { type: 'AgentDeleted', data: {} } as const;

describe('an agent', () => {
  it('is created once', () => {
    const create = (name: string, ...past: (typeof created)[]) =>
      given(agent, ...past).when((state) => createAgent(state, { name, ownerId: 'usr_1' }));
    create('Agent').then(created);
    create('Agent', created).then();
    create('Other', created).thenRefused('conflict');
  });

  it(`changes only what differs, based on the version it had ${verifies('contract:17:agent-changes')}`, () => {
    const change = (wanted: Parameters<typeof changeAgent>[1]) =>
      given(agent, created).when((state) => changeAgent(state, wanted));
    change({ name: 'Other' }).then({ type: 'AgentChanged', data: { name: 'Other' } });
    change({ name: 'Agent', ownerId: 'usr_2' }).then(given2);
    change({ name: 'Agent', ownerId: 'usr_1' }).then();
    change({}).then();
    change({ name: 'Other', ifMatch: '1' }).then({ type: 'AgentChanged', data: { name: 'Other' } });
    expect(change({ name: 'Other', ifMatch: '2' }).thenRefused('version_conflict').details).to.deep.equal({
      version: 1,
    });
    given(agent, created, gone)
      .when((state) => changeAgent(state, { name: 'Other' }))
      .thenRefused('not_found');
  });

  it('passes from the person who leaves only while that person owns it', () => {
    const hand = (...past: (typeof created | typeof given2 | typeof gone)[]) =>
      given(agent, ...past).when((state) => handOver(state, 'usr_1', 'usr_2'));
    hand(created).then(given2);
    hand(created, given2).then();
    hand(created, gone).then();
    const remove = (...past: (typeof created | typeof given2 | typeof gone)[]) =>
      given(agent, ...past).when((state) => deleteLeftAgent(state, 'usr_1'));
    remove(created).then(gone);
    remove(created, given2).then();
    remove(created, gone).then();
  });

  it('is deleted once', () => {
    const remove = (...past: (typeof created | typeof gone)[]) => given(agent, ...past).when(deleteAgent);
    remove(created).then(gone);
    remove(created, gone).then();
    remove().thenRefused('not_found');
  });
});

const terms = {
  principal_id: 'usr_1',
  principal_kind: 'user' as const,
  name: 'Token',
  surface: 'rest' as const,
  scopes: ['org:read' as const],
  mailbox_ids: null,
  expires_at: '2026-04-01T00:00:00.000Z',
  secret_hash: 'sealed' as Sealed,
};
const issued = { type: 'TokenIssued', data: terms } as const;
const revoked = { type: 'TokenRevoked', data: {} } as const;

describe('a token', () => {
  const EARLIER = '2026-03-15T00:00:00.000Z';

  it(`is renamed, or set to expire earlier, never later ${verifies('contract:17:token-changes')}`, () => {
    const change = (wanted: Parameters<typeof changeToken>[1]) =>
      given(token, issued).when((state) => changeToken(state, wanted));
    change({ name: 'Other' }).then({ type: 'TokenChanged', data: { name: 'Other' } });
    change({ expiresAt: EARLIER }).then({ type: 'TokenChanged', data: { expires_at: EARLIER } });
    change({ name: 'Token', expiresAt: terms.expires_at }).then();
    change({ expiresAt: '2026-04-01T00:00:00.001Z' }).thenRefused('invalid_request');
    const shortened = { type: 'TokenChanged', data: { expires_at: EARLIER } } as const;
    given(token, issued, shortened)
      .when((state) => changeToken(state, { expiresAt: terms.expires_at }))
      .thenRefused('invalid_request');
  });

  it('does not change once it is revoked', () => {
    given(token, issued, revoked)
      .when((state) => changeToken(state, { name: 'Other' }))
      .thenRefused('conflict');
    given(token, issued, revoked).when(revokeToken).then();
    given(token)
      .when((state) => changeToken(state, { name: 'Other' }))
      .thenRefused('not_found');
  });
});

describe('an invite that expires', () => {
  const invited: Fact<(typeof inviteEvents)[number]> = {
    type: 'InviteCreated',
    data: {
      email: 'sealed' as Sealed,
      email_key: 'key',
      role: 'member',
      mailbox_grants: [],
      expires_at: NOW.toISOString(),
    },
  };
  const end = (...past: Fact<(typeof inviteEvents)[number]>[]) =>
    given(invite, invited, ...past).when((state) => endExpiredInvite(state, NOW));

  it('ends, unless it was sent again or accepted meanwhile', () => {
    end().then({ type: 'InviteEnded', data: { reason: 'expired' } });
    end({ type: 'InviteResent', data: { expires_at: '2026-03-09T12:00:00.000Z' } }).then();
    end({ type: 'InviteAccepted', data: { user_id: 'usr_2', name: null } }).then();
    end({ type: 'InviteEnded', data: { reason: 'withdrawn' } }).then();
  });
});
