import { expect } from 'chai';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
import { agent, deleteAgent } from '../../../../commands/organisation/agent.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { removeMemberCapability, updateMember } from '../../../../commands/organisation/manage-members.ts';
import type { Member } from '../../../../commands/organisation/organisation-payload.ts';
import { getMember, listMembers } from '../../../../read-api/organisation/list-members.ts';
import { aroundAppends } from '../../../support/fakes/around-appends.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { PeopleRig } from '../../../support/worlds/people-rig.ts';

const ALL = ['sessionId', 'tokenId', 'agentTokenId'];

describe('members', () => {
  let rig: PeopleRig;
  let owner: string;

  beforeEach(async () => {
    rig = await PeopleRig.start();
    owner = rig.gateway.org.userId;
  });

  const remove = (by: string, user_id: string, agents_to_id?: string) =>
    rig.act(by, removeMemberCapability, { user_id, ...(agents_to_id === undefined ? {} : { agents_to_id }) });
  const change = (by: string, user_id: string, role: string) =>
    rig.act<Member>(by, updateMember, { user_id, role });
  const mails = (kind: string) =>
    rig.gateway.events.all.filter(
      ({ type, data }) => type === 'SystemMailRequested' && data['kind'] === kind,
    );

  it(`lists people with what their removal would end ${verifies('contract:17:members', 'contract:17:route-members')}`, async () => {
    const max = await rig.join('member', 'max');
    const { agentId } = await rig.belongings(max, await rig.mailbox());
    const list = await rig.act<{ items: Member[] }>(owner, listMembers, {});
    expect(list.items.map(({ id, role }) => [id, role])).to.have.deep.members([
      [max, 'member'],
      [owner, 'owner'],
    ]);
    expect(await rig.act(owner, getMember, { user_id: max })).to.deep.include({
      id: max,
      name: 'max',
      email: 'max@example.com',
      is_verified: true,
      consequences: { agents: [{ id: agentId, name: 'Agent' }], tokens: 2, grants: 1 },
    });
    expect(await rejection(rig.act(max, listMembers, {}))).to.include({ code: 'insufficient_scope' });
    expect(await rejection(rig.act(owner, getMember, { user_id: 'usr_unknown' }))).to.include({
      code: 'not_found',
    });
  });

  it(`changes a role within that of who gives it, and not the last owner's ${verifies('contract:17:members', 'contract:13:last-owner', 'contract:20:role-ceiling')}`, async () => {
    const [adam, max] = [await rig.join('admin'), await rig.join('member')];
    expect(await change(adam, max, 'approver')).to.include({ id: max, role: 'approver' });
    expect(await rejection(change(adam, max, 'owner'))).to.include({ code: 'insufficient_scope' });
    expect(await rejection(change(adam, owner, 'member'))).to.include({ code: 'insufficient_scope' });
    expect(await rejection(change(max, adam, 'member'))).to.include({ code: 'insufficient_scope' });
    expect(await rejection(change(owner, owner, 'admin'))).to.include({ code: 'last_owner' });
    expect(await rejection(remove(owner, owner))).to.include({ code: 'last_owner' });
    await change(owner, adam, 'owner');
    expect(await change(owner, owner, 'admin')).to.include({ role: 'admin' });
  });

  it(`revokes with a role the tokens that need more, and no others ${verifies('contract:3:role-ends')}`, async () => {
    const adam = await rig.join('admin');
    const wide = await rig.token(adam, adam, ['audit:read', 'mailboxes:read']);
    const narrow = await rig.token(adam, adam, ['mailboxes:read', 'messages:read']);
    await change(owner, adam, 'member');
    expect(rig.state.tokens.get(wide)?.revokedAt).not.to.equal(null);
    expect(rig.state.tokens.get(narrow)?.revokedAt).to.equal(null);
    expect(rig.typesOf(`token-${wide}`)).to.deep.equal(['TokenIssued', 'TokenRevoked']);
    await change(owner, adam, 'admin');
    expect(() => rig.gateway.callerOf(wide)).to.throw();
  });

  it(`returns no token with a role that was given again before the background work ${verifies('contract:3:role-ends', 'contract:2:departures')}`, async () => {
    const adam = await rig.join('admin');
    const wide = await rig.token(adam, adam, ['audit:read', 'mailboxes:read']);
    const narrow = await rig.token(adam, adam, ['mailboxes:read', 'messages:read']);
    // The process died between the new role and what it ends.
    for (const role of ['member', 'admin'] as const) await rig.setRole(adam, role);
    expect(rig.gateway.callerOf(wide).orgScopes).to.deep.equal(new Set(['mailboxes:read']));
    expect(rig.gateway.callerOf(narrow).orgScopes).to.deep.equal(new Set(['mailboxes:read']));
    expect(await rig.sweep()).to.equal(1);
    expect(rig.typesOf(`token-${wide}`)).to.deep.equal(['TokenIssued', 'TokenRevoked']);
    expect(rig.state.tokens.get(narrow)?.revokedAt).to.equal(null);
    const again = await rig.token(adam, adam, ['audit:read']);
    expect(rig.gateway.callerOf(again).orgScopes).to.deep.equal(new Set(['audit:read']));
  });

  it(`ends everything with a membership, in the log too, and returns nothing of it ${verifies('contract:2:departures')}`, async () => {
    const max = await rig.join('member', 'max');
    const theirs = await rig.belongings(max, await rig.mailbox());
    expect(rig.usable(theirs)).to.deep.equal(ALL);
    await remove(owner, max);
    expect(rig.usable(theirs)).to.deep.equal([]);
    expect(rig.state.agents.has(theirs.agentId)).to.equal(false);
    expect(rig.state.sessions.get(theirs.sessionId)?.endedAt).not.to.equal(null);
    expect(rig.state.tokens.get(theirs.tokenId)?.revokedAt).not.to.equal(null);
    expect(rig.state.tokens.get(theirs.agentTokenId)?.revokedAt).not.to.equal(null);
    expect(rig.state.mailboxIdsByPrincipal.has(max)).to.equal(false);
    expect(rig.state.mailboxIdsByPrincipal.has(theirs.agentId)).to.equal(false);
    expect(await rig.sweep()).to.equal(0);
    expect(mails('member_removed').map(({ data }) => data['user_id'])).to.deep.equal([max]);
    await rig.join('member', 'max');
    expect(rig.usable(theirs)).to.deep.equal([]);
    expect(rig.gateway.callerOf(await rig.gateway.signIn(max)).mailboxes.size).to.equal(0);
  });

  it('hands agents to a member before a removal, without their tokens', async () => {
    const [max, mia] = [await rig.join('member'), await rig.join('member')];
    const theirs = await rig.belongings(max, await rig.mailbox());
    const refused = await rejection(remove(owner, max, 'usr_unknown'));
    expect(refused).to.include({ code: 'invalid_request' });
    expect(refused).to.have.nested.property('details.issues[0].path', 'agents_to_id');
    expect(await rejection(remove(max, max, mia))).to.include({ code: 'insufficient_scope' });
    await remove(owner, max, mia);
    expect(rig.state.agents.get(theirs.agentId)).to.include({ ownerId: mia });
    expect(rig.usable(theirs)).to.deep.equal([]);
    expect(rig.state.tokens.get(theirs.agentTokenId)?.revokedAt).not.to.equal(null);
    expect(mails('agents_handed_over').map(({ data }) => [data['user_id'], data['agent_ids']])).to.deep.equal(
      [[mia, [theirs.agentId]]],
    );
    expect(rig.state.mailboxIdsByPrincipal.has(theirs.agentId), 'its grants stay').to.equal(true);
  });

  it('sends no mail to a person who takes agents over themselves', async () => {
    const max = await rig.join('member');
    const theirs = await rig.belongings(max, await rig.mailbox());
    await remove(owner, max, owner);
    expect(rig.state.agents.get(theirs.agentId)).to.include({ ownerId: owner });
    expect(mails('agents_handed_over')).to.deep.equal([]);
  });

  it('names only agents that were handed over', async () => {
    const [max, mia] = [await rig.join('member'), await rig.join('member')];
    const { agentId } = await rig.belongings(max, await rig.mailbox());
    const { id: deletedId } = await rig.act<{ id: string }>(max, createAgent, { name: 'Short-lived' });
    // Another request deletes one of them after the list was made.
    const ports = aroundAppends(
      rig.ports,
      async (stream) => {
        if (stream === `agent-${agentId}`)
          await decideAndAppend(rig.ports, systemAuthor(rig.ports, rig.orgId), agent, {
            id: deletedId,
            decide: deleteAgent,
          });
      },
      () => Promise.resolve(),
    );
    await rig.act(owner, removeMemberCapability, { user_id: max, agents_to_id: mia }, ports);
    expect(mails('agents_handed_over').map(({ data }) => data['agent_ids'])).to.deep.equal([[agentId]]);
  });

  it('goes over agents and tokens once for all members of a list', async () => {
    const people = [owner, await rig.join('member'), await rig.join('member')];
    let rounds = 0;
    const counted = <Value>(entries: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> => {
      const copy = new Map(entries);
      copy.values = () => {
        rounds += 1;
        return new Map(entries).values();
      };
      return copy;
    };
    const { state } = rig;
    const seen = { ...state, agents: counted(state.agents), tokens: counted(state.tokens) };
    const directory = { ...rig.ports.directory, state: seen, untilCurrent: () => Promise.resolve(true) };
    const list = await rig.act<{ items: Member[] }>(
      owner,
      listMembers,
      {},
      {
        ...rig.ports,
        directory,
      },
    );
    expect(list.items.map(({ id }) => id)).to.have.members(people);
    expect(rounds).to.equal(2);
  });

  it('lets a member leave without any right and without a mail', async () => {
    const max = await rig.join('auditor');
    await remove(max, max);
    expect(rig.typesOf(`organisation-${rig.orgId}`).at(-1)).to.equal('MemberRemoved');
    expect(rig.gateway.events.all.findLast(({ type }) => type === 'MemberRemoved')?.data).to.deep.equal({
      user_id: max,
      reason: 'left',
    });
    expect(mails('member_removed')).to.deep.equal([]);
    expect(await rejection(remove(owner, max))).to.include({ code: 'not_found' });
  });
});
