import { expect } from 'chai';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { callerNow } from '../../../../commands/kernel/live-caller.ts';
import { callerOf } from '../../../../commands/kernel/access.ts';
import { disconnectApplication } from '../../../../commands/oauth/disconnect-application.ts';
import {
  createOAuthClient,
  deleteOAuthClient,
  updateOAuthClient,
} from '../../../../commands/oauth/manage-oauth-clients.ts';
import { deleteOAuthClient as decideDeletion, oauthClient } from '../../../../commands/oauth/oauth-client.ts';
import { leftBehind, settleLeftBehind } from '../../../../commands/organisation/departures.ts';
import { eraseAccount } from '../../../../commands/organisation/erase-account.ts';
import type { OAuthGrantEntry } from '../../../../commands/ports/directory.ts';
import {
  getConnectedApplication,
  listConnectedApplications,
} from '../../../../read-api/oauth/list-connected-applications.ts';
import { exportMe } from '../../../../read-api/organisation/export-me.ts';
import { getOAuthClient, listOAuthClients } from '../../../../read-api/oauth/list-oauth-clients.ts';
import { notificationsIn } from '../../../support/samples/notifications-in.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { ApplicationWorld, DOCUMENT } from '../../../support/worlds/application-world.ts';

interface Listed {
  items: { id: string; user: { id: string } }[];
}
interface Client {
  id: string;
  client_id: string;
  kind: string;
  client_secret?: string;
  secret_shown: boolean;
  version: number;
}

const REGISTRATION = { name: 'Report tool', redirect_uris: ['https://reports.example.com/callback'] };

describe('connected applications', () => {
  let world: ApplicationWorld;
  beforeEach(async () => {
    world = await ApplicationWorld.open();
  });

  const gateway = () => world.people.gateway;
  const list = async (token: string): Promise<string[]> =>
    (await gateway().call<Listed>(listConnectedApplications, {}, { token })).items.map(({ id }) => id);
  const disconnect = (grant_id: string, token: string): Promise<unknown> =>
    gateway().call(disconnectApplication, { grant_id }, { token });
  const endOf = (id: string): unknown =>
    gateway().events.all.findLast(({ streamName }) => streamName === `oauthGrant-${id}`)?.data['reason'];
  /** Somebody else with a connection of an application that asks for nothing about mail. */
  const connected = async (role: 'member' | 'admin') => {
    const userId = await world.people.member(role);
    const session = await gateway().signIn(userId);
    const decided = await world.allow(
      world.ask(),
      { scopes: ['mailboxes:read'], mailbox_ids: null },
      session,
    );
    const id = decided.connected_application_id ?? '';
    return { userId, session, id };
  };

  it(`lists and ends them for their person, and for those who manage the organisation ${verifies('contract:20:oauth-own-grants', 'contract:17:route-org-applications')}`, async () => {
    const own = await world.connect();
    const max = await connected('admin');
    expect(await list(world.owner)).to.have.members([own.id, max.id]);
    expect(await list(max.session)).to.deep.equal([max.id]);
    expect(await rejection(disconnect(own.id, max.session))).to.include({ code: 'not_found' });
    const getOwn = gateway().call(getConnectedApplication, { grant_id: own.id }, { token: max.session });
    expect(await rejection(getOwn)).to.include({ code: 'not_found' });
    await disconnect(max.id, max.session);
    await disconnect(own.id, world.owner);
    expect(await list(world.owner)).to.deep.equal([]);
    expect([endOf(own.id), endOf(max.id)]).to.deep.equal(['revoked', 'revoked']);
    expect(world.requests.forgotten).to.have.members([own.id, max.id]);
  });

  it('makes a caller in the name of the person, who has no rights once they end', async () => {
    const grant = await world.connect();
    const now = gateway().clock.now();
    const caller = callerOf(world.people.state, grant, now);
    expect(caller).to.deep.include({ actor: 'delegated', onBehalfOf: gateway().org.userId, session: null });
    expect([...(caller?.mailboxes.get(world.mailboxId)?.scopes ?? [])]).to.deep.equal(['messages:read']);
    if (!caller) throw new Error('no caller');
    expect(callerNow(world.people.state, caller, now).token.id).to.equal(grant.id);
    await disconnect(grant.id, world.owner);
    expect(() => callerNow(world.people.state, caller, now)).to.throw('revoked');
  });

  it('ends them in the log when their person leaves, and removes them when the account is erased', async () => {
    const max = await connected('member');
    const eve = await connected('member');
    await world.people.remove(max.userId);
    expect(leftBehind(world.people.state, gateway().clock.now())).to.deep.include({
      kind: 'oauthGrant',
      id: max.id,
      orgId: world.people.orgId,
      principalId: max.userId,
      reason: 'member_removed',
    });
    expect(await list(world.owner)).to.deep.equal([eve.id]);
    const { ports, orgId } = world.people;
    const leavers = { orgId, principalIds: [max.userId] };
    await settleLeftBehind(ports, systemAuthor(ports, orgId), leavers);
    expect(endOf(max.id)).to.equal('member_removed');
    expect(world.requests.forgotten).to.deep.equal([max.id]);
    await eraseAccount(world.people.ports, systemAuthor(world.people.ports, null), eve.userId);
    expect(endOf(eve.id)).to.equal('account_erased');
    expect(world.grant(eve.id)).to.equal(undefined);
  });

  it('keeps none of an erased account, also none that had ended', async () => {
    const max = await connected('member');
    await disconnect(max.id, max.session);
    const { ports } = world.people;
    await eraseAccount(ports, systemAuthor(ports, null), max.userId);
    const told = gateway()
      .events.all.filter(({ streamName }) => streamName === `oauthGrant-${max.id}`)
      .map((stored) => notificationsIn(stored).map(({ event_type }) => event_type));
    // The erasure forgets it in the log; the outside heard of its end before.
    expect(told).to.deep.equal([['application.connected'], ['application.disconnected'], []]);
    const left = [...world.people.state.oauthGrants.values()].filter(
      ({ principalId }) => principalId === max.userId,
    );
    expect(left).to.deep.equal([]);
  });

  it('exports those that count now, with their last use', async () => {
    const [kept, ended] = [await world.connect(), await world.connect()];
    await disconnect(ended.id, world.owner);
    const usedAt = new Date('2026-03-01T12:05:00.000Z');
    gateway().sql.rows.set('work.token_use', [{ token_id: kept.id, last_used_at: usedAt }]);
    gateway().sql.rows.set('audit', []);
    const exported = await gateway().call<{ connected_applications: object[] }>(
      exportMe,
      {},
      { token: world.owner },
    );
    expect(exported.connected_applications).to.have.length(1);
    expect(exported.connected_applications[0]).to.deep.include({
      id: kept.id,
      org_id: world.people.orgId,
      last_used_at: usedAt.toISOString(),
    });
  });
});

describe('the OAuth clients of an organisation', () => {
  let world: ApplicationWorld;
  beforeEach(async () => {
    world = await ApplicationWorld.open();
  });

  const create = (input: object, token = world.owner): Promise<Client> =>
    world.people.gateway.call<Client>(createOAuthClient, input, { token });
  const remove = (id: string): Promise<unknown> =>
    world.people.gateway.call(deleteOAuthClient, { oauth_client_id: id }, { token: world.owner });
  const connect = (id: string): Promise<OAuthGrantEntry> =>
    world.connect(world.owner, {
      client: {
        id,
        kind: 'registered',
        name: 'Report tool',
        redirectUri: 'https://reports.example.com/callback',
      },
    });

  it(`shows a secret once, and only to a person with a fresh password ${verifies('contract:17:oauth-clients')}`, async () => {
    const { gateway, state } = world.people;
    const secret = await create({ ...REGISTRATION, confidential: true });
    expect(secret.client_secret).to.match(/^mgc_[0-9A-Za-z]{53}$/);
    const hash = gateway.ports.tokens.hashClientSecret(secret.client_secret ?? '');
    expect(state.oauthClients.get(secret.id)?.secretHash).to.equal(hash).and.to.be.a('string');
    const open = await create(REGISTRATION);
    expect(open).to.deep.include({ client_id: open.id, kind: 'registered', secret_shown: false });
    const shown = await gateway.call<Client>(
      getOAuthClient,
      { oauth_client_id: secret.id },
      { token: world.owner },
    );
    expect(shown).not.to.have.property('client_secret');
    expect(JSON.stringify(gateway.events.all.map(({ data }) => data))).not.to.include(secret.client_secret);
    expect(await rejection(create(REGISTRATION, gateway.ownerTokenId))).to.include({
      code: 'insufficient_scope',
    });
    const admin = await gateway.signIn(await world.people.member('admin'));
    expect(await rejection(create(REGISTRATION, admin))).to.include({ code: 'insufficient_scope' });
    gateway.clock.advance(16 * 60_000);
    expect(await rejection(create(REGISTRATION))).to.include({ code: 'step_up_required' });
  });

  it('refuses redirect addresses that others could receive', async () => {
    for (const uri of [
      'http://app.example.com/cb',
      'https://app.example.com/cb#fragment',
      'https://user:secret@app.example.com/cb',
      'javascript:alert(1)',
      'app:/cb',
      '/cb',
    ])
      expect(await rejection(create({ ...REGISTRATION, redirect_uris: [uri] })), uri).to.include({
        code: 'invalid_request',
      });
    for (const uri of ['http://127.0.0.1/cb', 'http://localhost:8080/cb', 'com.example.app:/cb'])
      await create({ ...REGISTRATION, redirect_uris: [uri] });
    const both = { ...REGISTRATION, client_id: DOCUMENT.id };
    for (const input of [both, { name: 'Nothing' }, { name: 'Odd', client_id: 'ftp://example.com' }])
      expect(await rejection(create(input))).to.include({ code: 'invalid_request' });
    expect(await rejection(create({ ...REGISTRATION, scopes: ['policy:manage'] }))).to.include({
      code: 'invalid_request',
    });
  });

  it('changes them under their version, and takes no scopes from what is connected', async () => {
    const { gateway } = world.people;
    const { id } = await create(REGISTRATION);
    const grant = await connect(id);
    const change = { oauth_client_id: id, name: 'Reports', scopes: ['mailboxes:read'] };
    const update = (ifMatch: string) =>
      gateway.call<Client>(updateOAuthClient, change, { token: world.owner, ifMatch });
    expect(await rejection(update('7'))).to.include({ code: 'version_conflict' });
    expect(await update('1')).to.deep.include({ name: 'Reports', scopes: ['mailboxes:read'], version: 2 });
    expect(world.grant(grant.id)?.scopes).to.deep.equal(grant.scopes);
    const approved = await create({ name: 'Mail helper', client_id: DOCUMENT.id });
    expect(await rejection(create({ name: 'Again', client_id: DOCUMENT.id }))).to.include({
      code: 'conflict',
    });
    const redirect = { oauth_client_id: approved.id, redirect_uris: REGISTRATION.redirect_uris };
    const refused = gateway.call(updateOAuthClient, redirect, { token: world.owner });
    expect(await rejection(refused)).to.include({ code: 'invalid_request' });
  });

  it('ends every connection when they are deleted', async () => {
    const { gateway, state } = world.people;
    const { id } = await create(REGISTRATION);
    const approved = await create({ name: 'Mail helper', client_id: DOCUMENT.id });
    const [registered, document] = [await connect(id), await world.connect()];
    await remove(approved.id);
    expect(world.grant(document.id)?.revokedAt).not.to.equal(null);
    expect(world.grant(registered.id)?.revokedAt).to.equal(null);
    await remove(id);
    expect(world.grant(registered.id)?.revokedAt).not.to.equal(null);
    const items = await gateway.call<Listed>(listOAuthClients, {}, { token: world.owner });
    expect(items.items).to.deep.equal([]);
    expect(state.oauthClients.size).to.equal(0);
  });

  it('leaves no connection when the process dies while they are deleted', async () => {
    const { ports, orgId, state } = world.people;
    const { id } = await create(REGISTRATION);
    const grant = await connect(id);
    const { position } = await decideAndAppend(ports, systemAuthor(ports, orgId), oauthClient, {
      id,
      decide: decideDeletion,
    });
    await ports.directory.waitFor(position ?? 0n);
    expect(leftBehind(state, world.people.gateway.clock.now())).to.deep.include({
      kind: 'oauthGrant',
      id: grant.id,
      orgId,
      principalId: grant.principalId,
      reason: 'client_deleted',
    });
  });
});
