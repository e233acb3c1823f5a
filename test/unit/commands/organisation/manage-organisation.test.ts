import { expect } from 'chai';
import {
  createAnotherOrganisation,
  deleteOrganisation,
  updateOrganisation,
} from '../../../../commands/organisation/manage-organisation.ts';
import type { Organisation } from '../../../../commands/organisation/organisation-payload.ts';
import type { PersonEntry } from '../../../../commands/ports/directory.ts';
import { membershipsOf } from '../../../../commands/kernel/membership.ts';
import { getOrganisation } from '../../../../read-api/organisation/get-organisation.ts';
import { listMembers } from '../../../../read-api/organisation/list-members.ts';
import { aroundAppends } from '../../../support/fakes/around-appends.ts';
import { invokeAs } from '../../../support/worlds/invoke-as.ts';
import { OWNER } from '../../../support/worlds/memory-gateway.ts';
import { personEntry } from '../../../support/worlds/people.ts';
import { PeopleRig } from '../../../support/worlds/people-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
const NAME = { name: OWNER.orgName };

describe('an organisation', () => {
  let rig: PeopleRig;
  let owner: string;

  beforeEach(async () => {
    rig = await PeopleRig.start();
    owner = rig.gateway.org.userId;
  });

  const patch = (by: string, input: object) => rig.act<Organisation>(by, updateOrganisation, input);
  const remove = (input: object = NAME, by = owner) =>
    rig.act<{ erase_at: string }>(by, deleteOrganisation, input);

  it(`is shown to members, and renamed by an owner ${verifies('contract:17:organisation', 'contract:17:route-org')}`, async () => {
    const max = await rig.join('member');
    expect(await rig.act(max, getOrganisation, {})).to.deep.equal({
      id: rig.orgId,
      name: 'Example',
      created_at: rig.state.organisations.get(rig.orgId)?.createdAt,
      oauth_clients: 'any',
      members: 2,
      deletion: null,
    });
    expect(await patch(owner, { name: 'Other' })).to.include({ name: 'Other' });
    expect(await patch(owner, {})).to.include({ name: 'Other' });
    expect(await rejection(patch(await rig.join('admin'), { name: 'Mine' }))).to.include({
      code: 'insufficient_scope',
    });
  });

  it(`is set up by an owner, or by everybody where sign-up is open ${verifies('contract:17:organisation')}`, async () => {
    const max = await rig.join('member');
    const create = (by: string, name: string) =>
      rig.act<Organisation>(by, createAnotherOrganisation, { name });
    const second = await create(owner, 'Second');
    expect(second).to.include({ name: 'Second', members: 1 });
    expect(membershipsOf(rig.state, owner).map(({ orgId, role }) => [orgId, role])).to.deep.equal([
      [rig.orgId, 'owner'],
      [second.id, 'owner'],
    ]);
    expect(await rejection(create(max, 'Third'))).to.include({ code: 'insufficient_scope' });
    Object.assign(rig.ports.server, { signUp: 'open' });
    expect(await create(max, 'Third')).to.include({ name: 'Third' });
    const facts = rig.gateway.events.all.filter(
      ({ streamName }) => streamName === `organisation-${second.id}`,
    );
    expect(facts.map(({ metadata }) => metadata['org_id'])).to.deep.equal([second.id, second.id]);
  });

  it(`is set up by the owner of any organisation, in whichever the session is ${verifies('contract:17:organisation')}`, async () => {
    Object.assign(rig.ports.server, { signUp: 'open' });
    const max = await rig.join('member');
    const create = (name: string) => rig.act<Organisation>(max, createAnotherOrganisation, { name });
    await create('Second');
    Object.assign(rig.ports.server, { signUp: 'closed' });
    expect(await create('Third')).to.include({ name: 'Third' });
  });

  it(`is one of at most twenty that a person owns ${verifies('contract:17:organisation')}`, async () => {
    const create = (by: string, name: string) =>
      rig.act<Organisation>(by, createAnotherOrganisation, { name });
    for (let count = 1; count < 20; count += 1) await create(owner, `Number ${String(count)}`);
    expect(await rejection(create(owner, 'One more'))).to.include({ code: 'conflict' });
    const { length } = membershipsOf(rig.state, owner);
    expect(length).to.equal(20);
    Object.assign(rig.ports.server, { signUp: 'open' });
    expect(await create(await rig.join('owner'), 'Of another')).to.include({ members: 1 });
  });

  it(`is not set up twice at once beyond that ${verifies('contract:17:organisation')}`, async () => {
    for (let count = 1; count < 19; count += 1)
      await rig.act(owner, createAnotherOrganisation, { name: `Number ${String(count)}` });
    const caller = rig.gateway.callerOf(await rig.gateway.signIn(owner));
    const ended = await Promise.allSettled(
      ['One', 'Two'].map((name) => invokeAs(rig.ports, caller, [createAnotherOrganisation, { name }])),
    );
    expect(ended.map(({ status }) => status)).to.have.members(['fulfilled', 'rejected']);
  });

  it(`is not set up by a person without a verified address ${verifies('contract:17:organisation')}`, async () => {
    Object.assign(rig.ports.server, { signUp: 'open' });
    const max = await rig.join('member');
    const people = rig.state.people as Map<string, PersonEntry>;
    people.set(max, personEntry(max, { isVerified: false }));
    const refused = rig.act(max, createAnotherOrganisation, { name: 'Mine' });
    expect(await rejection(refused)).to.include({ code: 'email_unverified' });
  });

  it(`is deleted with its exact name by an owner ${verifies('contract:17:organisation-delete')}`, async () => {
    const refused = await rejection(remove({ name: 'example' }));
    expect(refused).to.include({ code: 'invalid_request' });
    expect(refused).to.have.nested.property('details.issues[0].path', 'name');
    expect(await rejection(remove(NAME, await rig.join('admin')))).to.include({ code: 'insufficient_scope' });
    const { erase_at } = await remove();
    expect(Date.parse(erase_at) - rig.ports.clock.now().getTime()).to.be.within(WEEK_MS - 1_000, WEEK_MS);
    const mails = rig.gateway.events.all.filter(({ type }) => type === 'SystemMailRequested');
    expect(mails.map(({ data }) => [data['kind'], data['user_id']])).to.deep.equal([
      ['organisation_deleted', owner],
    ]);
  });

  it('is known to be deleted before the mails to its owners are requested', async () => {
    const known: boolean[] = [];
    const ports = aroundAppends(
      rig.ports,
      (stream) => {
        if (stream.startsWith('systemMail-'))
          known.push(rig.state.organisations.get(rig.orgId)?.eraseAt !== null);
        return Promise.resolve();
      },
      () => Promise.resolve(),
    );
    await rig.act(owner, deleteOrganisation, NAME, ports);
    expect(known).to.deep.equal([true]);
  });

  it(`has no rights while it is deleted, and gets all but sessions and tokens back ${verifies('contract:17:organisation-delete', 'contract:18:organisation-deletion')}`, async () => {
    const max = await rig.join('member');
    const mailboxId = await rig.mailbox();
    const theirs = await rig.belongings(max, mailboxId);
    const { erase_at } = await remove();
    expect(rig.usable(theirs)).to.deep.equal([]);
    expect(() => rig.gateway.callerOf(rig.gateway.ownerTokenId)).to.throw();
    expect(await rejection(rig.act(max, getOrganisation, {}))).to.match(/no caller/);
    expect(await rig.act(owner, getOrganisation, {})).to.deep.include({ deletion: { erase_at }, members: 2 });
    expect(await rejection(rig.act(owner, listMembers, {}))).to.include({ code: 'conflict' });
    expect(await rejection(patch(owner, { name: 'Other' }))).to.include({ code: 'conflict' });
    await rig.sweep();
    expect(rig.typesOf(`token-${theirs.tokenId}`)).to.include('TokenRevoked');
    expect(rig.typesOf(`session-${theirs.sessionId}`)).to.include('SessionEnded');
    expect(rig.state.agents.has(theirs.agentId), 'agents stay').to.equal(true);
    expect(await patch(owner, { restore: true, name: 'Back' })).to.deep.include({
      deletion: null,
      name: 'Back',
    });
    expect(rig.usable(theirs)).to.deep.equal([]);
    expect(await rig.sweep()).to.equal(0);
    const again = rig.gateway.callerOf(await rig.gateway.signIn(max));
    expect([...again.mailboxes.keys()]).to.deep.equal([mailboxId]);
    const agentToken = await rig.token(max, theirs.agentId, ['messages:read']);
    expect(rig.gateway.callerOf(agentToken).mailboxes.has(mailboxId)).to.equal(true);
  });

  it(`is erased when its time is over, its mailboxes removed ${verifies('contract:17:organisation-delete')}`, async () => {
    const max = await rig.join('member');
    const mailboxId = await rig.mailbox();
    const { agentId } = await rig.belongings(max, mailboxId);
    await remove();
    await rig.sweep();
    expect(rig.state.mailboxes.get(mailboxId)?.state).not.to.equal('removed');
    rig.gateway.clock.advance(WEEK_MS);
    await rig.sweep();
    expect(rig.typesOf(`organisation-${rig.orgId}`).at(-1)).to.equal('OrganisationErased');
    expect(rig.state.mailboxes.get(mailboxId)?.state).to.equal('removed');
    expect(rig.state.agents.has(agentId)).to.equal(false);
    expect(await rejection(rig.act(owner, getOrganisation, {}))).to.match(/no caller/);
  });
});
