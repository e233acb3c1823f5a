import { expect } from 'chai';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import { updateOrganisation } from '../../../../commands/organisation/manage-organisation.ts';
import { createOAuthClient } from '../../../../commands/oauth/manage-oauth-clients.ts';
import { readAuthorizationRequest } from '../../../../read-api/oauth/read-authorization-request.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { ApplicationWorld, DOCUMENT } from '../../../support/worlds/application-world.ts';

interface Shown {
  application: { name: string; host: string | null; redirect_host: string; only_loopback: boolean };
  refusal: string | null;
  scopes: string[];
  mailboxes: { id: string; email: string }[];
  connections: { id: string }[];
}

describe('a request of an application', () => {
  let world: ApplicationWorld;
  beforeEach(async () => {
    world = await ApplicationWorld.open();
  });

  const show = (consent_token: string, token = world.owner): Promise<Shown> =>
    world.people.gateway.call<Shown>(readAuthorizationRequest, { consent_token }, { token });
  const setRule = (oauth_clients: string): Promise<unknown> =>
    world.people.gateway.call(updateOrganisation, { oauth_clients }, { token: world.owner });
  const grantEvents = () =>
    world.people.gateway.events.all.filter(({ streamName }) => streamName.startsWith('oauthGrant-'));

  it(`shows who asks, for what, and where the answer goes ${verifies('contract:18:oauth-consent')}`, async () => {
    const shown = await show(world.ask());
    expect(shown.application).to.deep.equal({
      id: DOCUMENT.id,
      kind: 'document',
      name: 'Mail helper',
      host: 'app.example.com',
      redirect_host: 'app.example.com',
      only_loopback: false,
    });
    expect(shown.scopes).to.deep.equal(['messages:read', 'messages:archive', 'mailboxes:read']);
    expect(shown.mailboxes.map(({ id, email }) => [id, email])).to.deep.equal([
      [world.mailboxId, 'box@example.com'],
    ]);
    expect(shown).to.deep.include({ refusal: null, connections: [] });
    expect(grantEvents()).to.deep.equal([]);
  });

  it('names a program on the same computer, and writes hosts in ASCII', async () => {
    const loopback = {
      id: 'oac_1',
      kind: 'dynamic',
      name: null,
      redirectUri: 'http://127.0.0.1:4711/cb',
    } as const;
    expect((await show(world.ask({ client: loopback }))).application).to.deep.include({
      host: null,
      redirect_host: '127.0.0.1:4711',
      only_loopback: true,
    });
    const lookalike = { ...DOCUMENT, id: 'https://аpple.com/client.json' };
    expect((await show(world.ask({ client: lookalike }))).application.host).to.equal('xn--pple-43d.com');
  });

  it(`is decided by its POST alone, once ${verifies('contract:18:oauth-consent')}`, async () => {
    const token = world.ask();
    const allowed = await world.allow(token);
    expect(allowed.redirect_to).to.include('/oauth/authorize/');
    const grant = world.grant(allowed.connected_application_id ?? '');
    expect(grant).to.deep.include({
      principalId: world.people.gateway.org.userId,
      clientId: DOCUMENT.id,
      scopes: ['messages:read', 'mailboxes:read'],
      mailboxIds: [world.mailboxId],
      revokedAt: null,
    });
    expect(await world.allow(token)).to.deep.equal(allowed);
    expect(grantEvents()).to.have.length(1);
    expect(await rejection(world.allow(token, { decision: 'deny' }))).to.include({ code: 'conflict' });
    expect(await rejection(world.allow(token, { scopes: ['mailboxes:read'] }))).to.include({
      code: 'conflict',
    });
    expect((await show(world.ask())).connections.map(({ id }) => id)).to.deep.equal([grant?.id]);
  });

  it('gives nothing when it is refused', async () => {
    const token = world.ask();
    const denied = await world.allow(token, { decision: 'deny', scopes: undefined, mailbox_ids: undefined });
    expect(denied.connected_application_id).to.equal(null);
    expect([...world.requests.decisions.values()]).to.deep.equal([{ allowed: false }]);
    expect(await rejection(world.allow(token))).to.include({ code: 'conflict' });
    expect(grantEvents()).to.deep.equal([]);
  });

  it(`gives at most what was asked for and the person holds ${verifies('contract:20:oauth-grant-scopes')}`, async () => {
    for (const scopes of [['drafts:send'], ['approvals:decide'], ['policy:manage'], ['org:read']]) {
      expect(await rejection(world.allow(world.ask(), { scopes })), scopes.join()).to.include({
        code: 'insufficient_scope',
      });
    }
    const max = await world.people.member('member');
    const session = await world.people.gateway.signIn(max);
    expect((await show(world.ask(), session)).scopes).to.deep.equal(['mailboxes:read']);
    expect(await rejection(world.allow(world.ask(), {}, session))).to.include({ code: 'not_found' });
    const some = { scopes: ['messages:read'], mailbox_ids: null };
    expect(await rejection(world.allow(world.ask(), some, session))).to.include({
      code: 'insufficient_scope',
    });
    expect(grantEvents()).to.deep.equal([]);
  });

  it('is decided by a signed-in person with a fresh password, in the organisation that was shown', async () => {
    const { gateway } = world.people;
    const token = world.ask();
    expect(await rejection(world.allow(token, {}, gateway.ownerTokenId))).to.include({
      code: 'insufficient_scope',
    });
    expect(await rejection(world.allow(token, { org_id: 'org_other' }))).to.include({ code: 'conflict' });
    expect(await rejection(world.allow('consent-unknown'))).to.include({ code: 'not_found' });
    expect(await rejection(world.allow(token, { mailbox_ids: undefined }))).to.include({
      code: 'invalid_request',
    });
    gateway.clock.advance(16 * 60_000);
    expect(await rejection(world.allow(token))).to.include({ code: 'step_up_required' });
    expect(grantEvents()).to.deep.equal([]);
  });

  it(`is refused as the organisation says ${verifies('contract:20:oauth-client-rule')}`, async () => {
    const { gateway, orgId } = world.people;
    await setRule('approved');
    expect(world.people.state.organisations.get(orgId)?.oauthClients).to.equal('approved');
    expect((await show(world.ask())).refusal).to.include(DOCUMENT.id);
    expect(await rejection(world.allow(world.ask()))).to.include({ code: 'conflict' });
    const approval = {
      name: 'Mail helper',
      client_id: DOCUMENT.id,
      scopes: ['messages:read', 'mailboxes:read'],
    };
    await gateway.call(createOAuthClient, approval, { token: world.owner });
    expect(await show(world.ask())).to.deep.include({
      refusal: null,
      scopes: ['messages:read', 'mailboxes:read'],
    });
    await world.allow(world.ask());
    await setRule('registered');
    expect(await rejection(world.allow(world.ask()))).to.include({ code: 'conflict' });
  });

  it('lets only a signed-in person set which applications may be connected', async () => {
    const { gateway, orgId, state } = world.people;
    const wanted = {
      name: 'Administration',
      surface: 'rest',
      scopes: ['org:manage'],
      expires_at: '2026-04-01T00:00:00.000Z',
      principal_id: gateway.org.userId,
    };
    const { id: token } = await gateway.call<{ id: string }>(createToken, wanted, { token: world.owner });
    await gateway.call(updateOrganisation, { name: 'Renamed Ltd' }, { token });
    const refused = gateway.call(updateOrganisation, { oauth_clients: 'approved' }, { token });
    expect(await rejection(refused)).to.include({ code: 'insufficient_scope' });
    expect(state.organisations.get(orgId)).to.deep.include({ name: 'Renamed Ltd', oauthClients: 'any' });
  });

  it('mails the person who allowed it', async () => {
    const { connected_application_id: id } = await world.allow(world.ask());
    const mails = world.people.gateway.events.all.filter(({ type }) => type === 'SystemMailRequested');
    expect(mails.map(({ data }) => data)).to.deep.equal([
      {
        kind: 'application_connected',
        user_id: world.people.gateway.org.userId,
        to: null,
        oauth_grant_id: id,
      },
    ]);
  });
});
