import { expect } from 'chai';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { createInvite, invite } from '../../../../commands/organisation/invite.ts';
import { leftBehind, leftBehindBy, settleDeparture } from '../../../../commands/organisation/departures.ts';
import { removeMemberCapability } from '../../../../commands/organisation/manage-members.ts';
import { changeRole, organisation } from '../../../../commands/organisation/organisation.ts';
import type { PersonEntry } from '../../../../commands/ports/directory.ts';
import { dyingAfter, dyingBefore } from '../../../support/fakes/dying-ports.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { personEntry } from '../../../support/worlds/people.ts';
import { type Belongings, PeopleRig } from '../../../support/worlds/people-rig.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

describe('leftBehind', () => {
  let rig: PeopleRig;
  let owner: string;

  beforeEach(async () => {
    rig = await PeopleRig.start();
    owner = rig.gateway.org.userId;
  });

  const left = () =>
    leftBehind(rig.state, rig.ports.clock.now())
      .map(({ kind }) => kind)
      .toSorted();

  const inviting = async (by: string, role: 'member' | 'admin', days = 7): Promise<string> => {
    const { ports, orgId } = rig;
    const id = ports.ids.newId('inv');
    const author = { ...systemAuthor(ports, orgId), actor: { ...systemAuthor(ports, orgId).actor, id: by } };
    const terms = {
      email: await ports.personal.seal(id, 'new@example.com'),
      email_key: 'key',
      role,
      mailbox_grants: [],
      expires_at: new Date(ports.clock.now().getTime() + days * DAY_MS).toISOString(),
    };
    await decideAndAppend(ports, author, invite, { id, decide: (state) => createInvite(state, terms) });
    await rig.catchUp();
    return id;
  };

  it('is empty while everybody and everything belongs', async () => {
    const max = await rig.join('member');
    await rig.belongings(max, await rig.mailbox());
    await inviting(owner, 'admin');
    expect(left()).to.deep.equal([]);
  });

  it('leaves alone what belongs to an account whose erasure may stop', async () => {
    const max = await rig.join('member');
    await rig.belongings(max, await rig.mailbox());
    const people = rig.state.people as Map<string, PersonEntry>;
    people.set(max, personEntry(max, { isBeingErased: true }));
    expect(left()).to.deep.equal([]);
  });

  it(`ends invites of people without the right to give them, and expired ones ${verifies('contract:2:departures')}`, async () => {
    const adam = await rig.join('admin');
    const [byAdam, byOwner] = [await inviting(adam, 'member'), await inviting(owner, 'member', 1)];
    expect(left()).to.deep.equal([]);
    const demotion = { userId: adam, role: 'member', by: { userId: owner } } as const;
    await decideAndAppend(rig.ports, systemAuthor(rig.ports, rig.orgId), organisation, {
      id: rig.orgId,
      decide: (state) => changeRole(state, demotion),
    });
    await rig.catchUp();
    expect(left()).to.deep.equal(['invite']);
    await rig.sweep();
    expect(rig.state.invites.has(byAdam)).to.equal(false);
    const reasonOf = (id: string) =>
      rig.gateway.events.all.findLast(({ streamName }) => streamName === `invite-${id}`)?.data['reason'];
    expect(reasonOf(byAdam)).to.equal('inviter_lost_rights');
    rig.gateway.clock.advance(DAY_MS);
    expect(await rig.sweep()).to.be.greaterThan(0);
    expect(reasonOf(byOwner)).to.equal('expired');
  });

  /** Every event of a removal after which, or before which, its process may die. */
  const DEATHS = [
    ['after', /^AgentChanged$/],
    ['after', /^MemberRemoved$/],
    ['after', /^SystemMailRequested$/],
    ['before', /^SessionEnded$/],
    ['after', /^SessionEnded$/],
    ['before', /^TokenRevoked$/],
    ['after', /^TokenRevoked$/],
    ['before', /^GrantRevoked$/],
    ['before', /^AgentDeleted$/],
    ['after', /^AgentDeleted$/],
  ] as const;

  for (const [when, type] of DEATHS)
    for (const isHandedOver of [false, true]) {
      const title = `after a death ${when} ${type.source}${isHandedOver ? ' of a hand-over' : ''}`;
      it(`returns nothing to the person and ends in the background ${title} ${verifies('contract:2:departures')}`, async () => {
        const [max, mia] = [await rig.join('member', 'max'), await rig.join('member')];
        const theirs = await rig.belongings(max, await rig.mailbox());
        const dying = (when === 'after' ? dyingAfter : dyingBefore)(rig.ports, type);
        const input = { user_id: max, ...(isHandedOver && { agents_to_id: mia }) };
        await rig.act(owner, removeMemberCapability, input, dying).catch(() => undefined);
        await rig.catchUp();
        if (!rig.typesOf(`organisation-${rig.orgId}`).includes('MemberRemoved'))
          await rig.act(owner, removeMemberCapability, { user_id: max });
        expect(rig.usable(theirs)).to.deep.equal([]);
        await rig.join('member', 'max');
        expect(rig.usable(theirs), 'after the return').to.deep.equal([]);
        await rig.sweep();
        expectEnded(theirs, isHandedOver ? mia : null);
        expect(rig.gateway.callerOf(await rig.gateway.signIn(max)).mailboxes.size).to.equal(0);
      });
    }

  function expectEnded(theirs: Belongings, heir: string | null): void {
    expect(left()).to.deep.equal([]);
    expect(rig.usable(theirs)).to.deep.equal([]);
    expect(rig.typesOf(`session-${theirs.sessionId}`)).to.deep.equal(['SessionStarted', 'SessionEnded']);
    for (const id of [theirs.tokenId, theirs.agentTokenId])
      expect(rig.typesOf(`token-${id}`)).to.deep.equal(['TokenIssued', 'TokenRevoked']);
    const agent = rig.state.agents.get(theirs.agentId);
    expect(agent?.ownerId ?? null).to.equal(heir);
    expect(rig.state.mailboxIdsByPrincipal.has(theirs.userId)).to.equal(false);
  }

  it('judges for a request only what its leavers had', async () => {
    const [max, mia] = [await rig.join('member'), await rig.join('member')];
    const mailboxId = await rig.mailbox();
    const theirs = [await rig.belongings(max, mailboxId), await rig.belongings(mia, mailboxId)] as const;
    for (const user_id of [max, mia])
      await rejection(
        rig.act(owner, removeMemberCapability, { user_id }, dyingAfter(rig.ports, /^MemberRemoved$/)),
      );
    await rig.catchUp();
    const refused = () => {
      throw new Error('a request goes over all of them');
    };
    const closed = <Value>(entries: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> =>
      Object.assign(new Map(entries), { values: refused, entries: refused, [Symbol.iterator]: refused });
    const { sessions, grants, organisations, mailboxes } = rig.state;
    const state = {
      ...rig.state,
      ...{ sessions: closed(sessions), grants: closed(grants) },
      ...{ organisations: closed(organisations), mailboxes: closed(mailboxes) },
    };
    const now = rig.ports.clock.now();
    const leavers = { orgId: rig.orgId, principalIds: [max, theirs[0].agentId] };
    const found = leftBehindBy(state, now, leavers);
    expect(new Set(found.map(({ kind }) => kind))).to.deep.equal(
      new Set(['session', 'token', 'agent', 'grant']),
    );
    const isTheirs = (each: object) =>
      'principalId' in each && leavers.principalIds.includes(each.principalId as string);
    expect(found).to.have.deep.members(leftBehind(rig.state, now).filter(isTheirs));
    expect(leftBehindBy(state, now, { ...leavers, orgId: 'org_other' })).to.deep.equal([]);
  });

  it('knows whether a session stands without its rights', async () => {
    const max = await rig.join('member');
    await rig.belongings(max, await rig.mailbox());
    const mailboxIdsByPrincipal = new Proxy(rig.state.mailboxIdsByPrincipal, {
      get: () => {
        throw new Error('the rights are computed');
      },
    });
    expect(leftBehind({ ...rig.state, mailboxIdsByPrincipal }, rig.ports.clock.now())).to.deep.equal([]);
  });

  it('refuses nothing that was ended before it comes', async () => {
    const max = await rig.join('member');
    await rig.belongings(max, await rig.mailbox());
    await rejection(
      rig.act(owner, removeMemberCapability, { user_id: max }, dyingBefore(rig.ports, /^SessionEnded$/)),
    );
    await rig.catchUp();
    const stale = leftBehind(rig.state, rig.ports.clock.now());
    expect(stale.length).to.be.greaterThan(4);
    await rig.sweep();
    const { length } = rig.gateway.events.all;
    for (const departure of stale) await settleDeparture(rig.ports, departure);
    expect(rig.gateway.events.all.length).to.equal(length);
  });
});
