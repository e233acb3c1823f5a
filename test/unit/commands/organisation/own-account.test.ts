import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import {
  eraseAccount,
  listErasures,
  settleErasure,
} from '../../../../commands/organisation/erase-account.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
import { deleteAgent, updateAgent } from '../../../../commands/organisation/manage-agents.ts';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import { deleteMe, type Me, updateMe } from '../../../../commands/organisation/own-account.ts';
import {
  createOrganisation,
  deleteOrganisation,
  organisation,
} from '../../../../commands/organisation/organisation.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { getMe } from '../../../../read-api/organisation/get-me.ts';
import { afterAppends } from '../../../support/fakes/around-appends.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { EventMetadata } from '../../../../commands/values/event.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { InviteWorld } from '../../../support/worlds/invite-world.ts';

const END = '2026-03-10T00:00:00Z';

describe('the own account', () => {
  let world: InviteWorld;
  beforeEach(async () => {
    world = await InviteWorld.open();
  });

  const signedIn = async (userId: string) => ({ token: await world.gateway.signIn(userId) });
  /** An organisation that the person owns alone. */
  const found = async (ownerId: string, name: string): Promise<string> => {
    const orgId = world.ports.ids.newId('org');
    const { position } = await decideAndAppend(world.ports, systemAuthor(world.ports, orgId), organisation, {
      id: orgId,
      decide: (state) => createOrganisation(state, { name, ownerId }),
    });
    await world.ports.directory.waitFor(position ?? 0n);
    return orgId;
  };

  it(`is read and changed by its person ${verifies('contract:17:users-me', 'contract:17:route-users-me')}`, async () => {
    const ann = await world.member('approver', 'ann@example.net');
    const own = await signedIn(ann);
    const me = await world.gateway.call<Me>(getMe, {}, own);
    expect(me).to.deep.equal({
      id: ann,
      name: 'A approver',
      email: 'ann@example.net',
      is_verified: true,
      notifications: 'each',
      organisations: [{ id: world.orgId, name: 'Example', role: 'approver', erase_at: null }],
      created_at: me.created_at,
    });
    const change = { name: 'Ann', notifications: 'digest' };
    expect(await world.gateway.call<Me>(updateMe, change, own)).to.deep.equal({ ...me, ...change });
    expect(world.state.people.get(ann)).to.include({ name: 'Ann', notifications: 'digest' });
    expect(await rejection(world.gateway.call(getMe, {}))).to.include({ code: 'insufficient_scope' });
    expect(await rejection(world.gateway.call(updateMe, { name: '' }, own))).to.include({
      code: 'invalid_request',
    });
  });

  it(`is erased with everything that hung on it ${verifies('contract:17:erase-account', 'contract:12:erasure')}`, async () => {
    const ann = await world.member('admin', 'ann@example.net');
    const own = await signedIn(ann);
    const agent = await world.gateway.call<{ id: string }>(createAgent, { name: 'Bot' }, own);
    for (const principal_id of [ann, agent.id]) {
      const wanted = {
        name: 'One',
        surface: 'rest',
        scopes: ['messages:read'],
        expires_at: END,
        principal_id,
      };
      await world.gateway.call(createToken, wanted, own);
    }
    await world.ports.secrets.savePassword(ann, 'any' as never);
    await world.links.make('password', ann, null);
    await world.gateway.call(deleteMe, {}, own);
    const { people, agents, tokens, members, personSessions } = world.state;
    for (const entries of [people, personSessions]) expect(entries.has(ann)).to.equal(false);
    expect([...agents.values()].filter(({ ownerId }) => ownerId === ann)).to.deep.equal([]);
    const ofAnn = (id: string) => id === ann || id === agent.id;
    expect([...tokens.values()].filter(({ principalId }) => ofAnn(principalId))).to.deep.equal([]);
    expect(members.has(`${world.orgId}/${ann}`)).to.equal(false);
    expect(await world.ports.secrets.verifyPassword(ann, 'any')).to.equal(null);
    expect(await world.links.find('password', 'link-1')).to.equal(null);
    await expectNothingOpens(ann);
    const again = await world.member('member', 'ann@example.net');
    expect(again).not.to.equal(ann);
  });

  it('is accepted once it has begun, although the approvals of now are not known yet', async () => {
    const ann = await world.member('member', 'ann@example.net');
    const { trails, events, directory } = world.ports;
    const head = await events.headPosition();
    const approvalsOf: typeof trails.approvalsOf = async (principalIds) => {
      if ((await events.headPosition()) > head) throw new GatewayError('index_building', 'Not yet.');
      return await trails.approvalsOf(principalIds);
    };
    const behind = { ...world.ports, trails: { ...trails, approvalsOf } };
    const position = await eraseAccount(behind, systemAuthor(world.ports, null), ann);
    expect(position).to.equal((await events.readLast(`account-${ann}`))?.position);
    expect(directory.state.people.get(ann)?.isBeingErased).to.equal(true);
    await settleErasure(world.ports, ann);
    expect(directory.state.people.has(ann)).to.equal(false);
  });

  /** Every text in the log that was sealed for the person. */
  async function expectNothingOpens(userId: string): Promise<void> {
    const sealed = JSON.stringify(world.gateway.events.all.map(({ data }) => data)).match(
      new RegExp(`sealed:${userId}:[^"]*`, 'g'),
    );
    expect(sealed?.length).to.be.greaterThan(1);
    for (const text of sealed ?? []) expect(await world.ports.personal.open(text as never)).to.equal(null);
  }

  it(`takes the keys of its agents with it, but not of one that has another owner ${verifies('contract:12:erasure', 'contract:12:erasure-told')}`, async () => {
    const ann = await world.member('admin', 'ann@example.net');
    const bea = await world.member('member', 'bea@example.net');
    const own = await signedIn(ann);
    const made = async (name: string): Promise<string> =>
      (await world.gateway.call<{ id: string }>(createAgent, { name }, own)).id;
    const [live, deleted, handedOver] = [await made('Live'), await made('Deleted'), await made('Kept')];
    const all = [live, deleted, handedOver];
    for (const id of all) await world.ports.personal.seal(id, 'where it was');
    await world.gateway.call(deleteAgent, { agent_id: deleted }, own);
    await world.gateway.call(updateAgent, { agent_id: handedOver, owner_id: bea }, own);
    await eraseAccount(world.ports, systemAuthor(world.ports, null), ann);
    const erased = await Promise.all(all.map((id) => world.ports.personal.isErased(id)));
    expect(erased).to.deep.equal([true, true, false]);
    const told = world.gateway.events.all.filter(({ type }) => type === 'PersonalDataErased');
    expect(told.map(({ data, metadata }) => [data['owner_id'], metadata['org_id']])).to.have.deep.members([
      [live, world.orgId],
      [deleted, world.orgId],
      [ann, world.orgId],
      [ann, null],
    ]);
    expect(world.state.agents.get(handedOver)?.ownerId).to.equal(bea);
  });

  it('is not erased while an event that may make the person the last owner of an agent cannot be read', async () => {
    const ann = await world.member('admin', 'ann@example.net');
    const bea = await world.member('admin', 'bea@example.net');
    const own = await signedIn(ann);
    const { id } = await world.gateway.call<{ id: string }>(createAgent, { name: 'Bot' }, own);
    await world.ports.personal.seal(id, 'where it was');
    const { events } = world.gateway;
    const [created] = await events.readStream(`agent-${id}`);
    const unread = { type: 'AgentChanged', data: { owner_id: bea, name: 5 } };
    const { position } = await events.append(`agent-${id}`, 0n, [
      { ...unread, id: randomUUID(), metadata: created?.metadata as EventMetadata },
    ]);
    await world.ports.directory.waitFor(position);
    for (const userId of [ann, bea]) {
      const erasure = eraseAccount(world.ports, systemAuthor(world.ports, null), userId);
      expect(await rejection(erasure)).to.include({ code: 'index_building' });
      expect(await world.ports.personal.isErased(userId)).to.equal(false);
    }
    expect(world.gateway.events.all.filter(({ type }) => type === 'AccountErasureStarted')).to.deep.equal([]);
  });

  it('sends its person a mail, with the address sealed for that mail', async () => {
    const ann = await world.member('member', 'ann@example.net');
    await eraseAccount(world.ports, systemAuthor(world.ports, null), ann);
    const [mail] = world.gateway.events.all.filter(({ type }) => type === 'SystemMailRequested');
    expect(mail?.data).to.deep.equal({
      kind: 'account_erased',
      user_id: null,
      to: `sealed:${mail?.streamName.replace('systemMail-', '') ?? ''}:ann@example.net`,
    });
  });

  it('is not erased while an organisation would lose its last owner', async () => {
    const ann = await world.member('member', 'ann@example.net');
    const orgId = await found(ann, 'Own Ltd');
    const before = world.gateway.events.all.length;
    const refused = await rejection(eraseAccount(world.ports, systemAuthor(world.ports, null), ann));
    expect(refused).to.deep.include({
      code: 'last_owner',
      details: { organisations: [{ id: orgId, name: 'Own Ltd' }] },
    });
    expect(world.gateway.events.all.length).to.equal(before);
    await world.member('owner', 'bea@example.net', orgId);
    await eraseAccount(world.ports, systemAuthor(world.ports, null), ann);
    expect(world.state.people.has(ann)).to.equal(false);
  });

  it('is erased when the organisation that it owns alone is deleted', async () => {
    const ann = await world.member('member', 'ann@example.net');
    const orgId = await found(ann, 'Own Ltd');
    const author = systemAuthor(world.ports, orgId);
    const eraseAt = new Date(END);
    const { position } = await decideAndAppend(world.ports, author, organisation, {
      id: orgId,
      decide: (state) => deleteOrganisation(state, eraseAt, { userId: ann }),
    });
    await world.ports.directory.waitFor(position ?? 0n);
    await eraseAccount(world.ports, systemAuthor(world.ports, null), ann);
    expect(world.state.people.has(ann)).to.equal(false);
  });

  it('stays when its person becomes a last owner meanwhile, and can be erased later', async () => {
    const ann = await world.member('member', 'ann@example.net');
    const orgId = await found(ann, 'Own Ltd');
    const bea = await world.member('owner', 'bea@example.net', orgId);
    const author = systemAuthor(world.ports, null);
    const meanwhile = afterAppends(world.ports, async (stream) => {
      if (stream === `account-${ann}` && world.roleOf(bea, orgId) !== undefined)
        await eraseAccount(world.ports, author, bea);
    });
    expect(await rejection(eraseAccount(meanwhile, author, ann))).to.include({
      code: 'last_owner',
    });
    expect(listErasures(world.ports)).to.deep.equal([]);
    expect(world.state.people.get(ann)?.isBeingErased).to.equal(false);
    expect(world.roleOf(ann, orgId)).to.equal('owner');
    await world.member('owner', 'cleo@example.net', orgId);
    await eraseAccount(world.ports, author, ann);
    expect(world.state.people.has(ann)).to.equal(false);
  });

  it('keeps no password that a mailed link sets while it is erased', async () => {
    const ann = await world.member('member', 'ann@example.net');
    const token = await world.links.make('password', ann, null);
    const used: string[] = [];
    const links: Ports['links'] = {
      make: (...link) => world.links.make(...link),
      find: (purpose, text) => world.links.find(purpose, text),
      take: (purpose, text) => world.links.take(purpose, text),
      takeForPassword: () => world.links.takeForPassword(),
      withdraw: async (subject) => {
        // Its person uses it at the last moment.
        if ((await world.links.take('password', token)) !== null) {
          used.push(subject);
          await world.ports.secrets.savePassword(ann, 'set by the link' as never);
        }
        await world.links.withdraw(subject);
      },
    };
    await eraseAccount({ ...world.ports, links }, systemAuthor(world.ports, null), ann);
    expect(used).to.deep.equal([ann]);
    expect(world.gateway.secrets.passwords.has(ann)).to.equal(false);
  });

  it('has its valid tokens revoked before they are forgotten', async () => {
    const ann = await world.member('admin', 'ann@example.net');
    const issue = async (expires_at: string): Promise<string> => {
      const wanted = { name: 'One', surface: 'rest', scopes: ['messages:read'], expires_at };
      return (await world.gateway.call<{ id: string }>(createToken, wanted, await signedIn(ann))).id;
    };
    const [valid, expired] = [await issue(END), await issue('2026-03-02T00:00:00Z')];
    world.gateway.clock.advance(24 * 60 * 60_000);
    await eraseAccount(world.ports, systemAuthor(world.ports, null), ann);
    const typesOf = (id: string) =>
      world.gateway.events.all.flatMap(({ streamName, type }) =>
        streamName === `token-${id}` ? [type] : [],
      );
    expect(typesOf(valid)).to.deep.equal(['TokenIssued', 'TokenRevoked', 'TokenForgotten']);
    expect(typesOf(expired)).to.deep.equal(['TokenIssued', 'TokenForgotten']);
  });

  it('is left alone by the sweeper when nothing began', async () => {
    const ann = await world.member('member');
    await settleErasure(world.ports, ann);
    expect(world.state.people.has(ann)).to.equal(true);
  });
});
