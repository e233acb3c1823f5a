import { expect } from 'chai';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import { updateAgent } from '../../../../commands/organisation/manage-agents.ts';
import { removeMemberCapability, updateMember } from '../../../../commands/organisation/manage-members.ts';
import {
  deleteOrganisation,
  updateOrganisation,
} from '../../../../commands/organisation/manage-organisation.ts';
import { updateToken } from '../../../../commands/organisation/manage-tokens.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { aroundAppends } from '../../../support/fakes/around-appends.ts';
import { type Belongings, PeopleRig } from '../../../support/worlds/people-rig.ts';

const nothing = () => Promise.resolve();

describe('a change in an organisation', () => {
  let rig: PeopleRig;
  let theirs: Belongings;

  beforeEach(async () => {
    rig = await PeopleRig.start();
    theirs = await rig.belongings(await rig.join('member'), await rig.mailbox());
  });

  /** The streams that it reads before its first append. */
  async function readsOf(capability: Capability, input: object): Promise<readonly string[]> {
    const reads: string[] = [];
    let isWritten = false;
    const counted = aroundAppends(rig.ports, nothing, () => {
      isWritten = true;
      return nothing();
    });
    const { events } = counted;
    const ports: Ports = {
      ...counted,
      events: {
        ...events,
        readStream: (stream, from) => {
          if (!isWritten) reads.push(stream);
          return events.readStream(stream, from);
        },
      },
    };
    await rig.act(rig.gateway.org.userId, capability, input, ports);
    return reads;
  }

  it('is decided on the stream as it was read once', async () => {
    const { userId, agentId, tokenId } = theirs;
    const organisation = `organisation-${rig.orgId}`;
    expect(await readsOf(updateToken, { token_id: tokenId, name: 'Other' })).to.deep.equal([
      `token-${tokenId}`,
    ]);
    expect(await readsOf(updateAgent, { agent_id: agentId, name: 'Other' })).to.deep.equal([
      `agent-${agentId}`,
    ]);
    expect(await readsOf(updateOrganisation, { name: 'Other' })).to.deep.equal([organisation]);
    expect(await readsOf(updateMember, { user_id: userId, role: 'auditor' })).to.deep.equal([organisation]);
    expect(await readsOf(removeMemberCapability, { user_id: userId })).to.deep.equal([organisation]);
    expect(await readsOf(deleteOrganisation, { name: 'Other' })).to.deep.equal([organisation]);
  });
});
