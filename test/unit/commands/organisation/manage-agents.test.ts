import { expect } from 'chai';
import type { Agent } from '../../../../commands/organisation/add-agent.ts';
import { deleteAgent, updateAgent } from '../../../../commands/organisation/manage-agents.ts';
import { updateToken } from '../../../../commands/organisation/manage-tokens.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { type Belongings, PeopleRig } from '../../../support/worlds/people-rig.ts';

describe('the agents of a member', () => {
  let rig: PeopleRig;
  let owner: string;
  let max: string;
  let theirs: Belongings;

  beforeEach(async () => {
    rig = await PeopleRig.start();
    owner = rig.gateway.org.userId;
    max = await rig.join('member');
    theirs = await rig.belongings(max, await rig.mailbox());
  });

  const patch = (by: string, input: object) =>
    rig.act<Agent>(by, updateAgent, { agent_id: theirs.agentId, ...input });

  it(`includes agents with new names, each under a new version ${verifies('contract:17:agent-changes')}`, async () => {
    expect(await patch(max, { name: 'Other' })).to.deep.include({ name: 'Other', version: 2, owner_id: max });
    expect(rig.usable(theirs)).to.include('agentTokenId');
    expect(await rejection(patch(await rig.join('member'), { name: 'Mine' }))).to.include({
      code: 'not_found',
    });
    const { agentId } = theirs;
    const session = await rig.gateway.signIn(max);
    const based = (ifMatch: string) =>
      rig.gateway.call<Agent>(updateAgent, { agent_id: agentId, name: 'Third' }, { token: session, ifMatch });
    expect(await rejection(based('1'))).to.include({ code: 'version_conflict' });
    expect(await based('2')).to.include({ version: 3 });
  });

  it(`loses an agent that is handed over, and its tokens stay revoked ${verifies('contract:17:agent-changes')}`, async () => {
    const mia = await rig.join('member');
    expect(await rejection(patch(max, { owner_id: mia }))).to.include({ code: 'insufficient_scope' });
    expect(await rejection(patch(owner, { owner_id: 'usr_unknown' }))).to.include({ code: 'not_found' });
    expect(await patch(owner, { owner_id: mia })).to.include({ owner_id: mia });
    expect(rig.usable(theirs)).to.deep.equal(['sessionId', 'tokenId']);
    expect(rig.typesOf(`token-${theirs.agentTokenId}`)).to.deep.equal(['TokenIssued', 'TokenRevoked']);
    await patch(owner, { owner_id: max });
    expect(rig.usable(theirs), 'after it came back').to.deep.equal(['sessionId', 'tokenId']);
    const mails = rig.gateway.events.all.filter(({ type }) => type === 'SystemMailRequested');
    expect(mails.map(({ data }) => data['user_id'])).to.deep.equal([mia, max]);
  });

  it(`loses a deleted agent with its tokens and grants ${verifies('contract:17:agent-changes')}`, async () => {
    const { agentId, agentTokenId } = theirs;
    await rig.act(max, deleteAgent, { agent_id: agentId });
    expect(rig.state.agents.has(agentId)).to.equal(false);
    expect(rig.typesOf(`token-${agentTokenId}`)).to.deep.equal(['TokenIssued', 'TokenRevoked']);
    expect(rig.state.mailboxIdsByPrincipal.has(agentId)).to.equal(false);
    expect(await rig.sweep()).to.equal(0);
    expect(await rejection(rig.act(max, deleteAgent, { agent_id: agentId }))).to.include({
      code: 'not_found',
    });
  });

  it(`has tokens that are renamed or end earlier ${verifies('contract:17:token-changes')}`, async () => {
    const { agentTokenId: token_id } = theirs;
    const change = (input: object, by = max) => rig.act(by, updateToken, { token_id, ...input });
    expect(await change({ name: 'Other' })).to.include({ name: 'Other' });
    const soon = new Date(rig.ports.clock.now().getTime() + 60_000).toISOString();
    expect(await change({ expires_at: soon })).to.include({ expires_at: soon, status: 'active' });
    expect(await rejection(change({ expires_at: '2026-04-01T00:00:00Z' }))).to.include({
      code: 'invalid_request',
    });
    expect(await rejection(change({ expires_at: '2026-01-01T00:00:00Z' }))).to.include({
      code: 'invalid_request',
    });
    expect(await rejection(change({ name: 'Mine' }, await rig.join('member')))).to.include({
      code: 'not_found',
    });
    rig.gateway.clock.advance(60_000);
    expect(await change({})).to.include({ status: 'expired' });
  });
});
