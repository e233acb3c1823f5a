import { expect } from 'chai';
import { z } from 'zod';
import { leftBehind, settleDeparture } from '../../../../commands/organisation/departures.ts';
import { deleteInvite, type Invite, resendInvite } from '../../../../commands/organisation/manage-invites.ts';
import { removeMemberCapability } from '../../../../commands/organisation/manage-members.ts';
import { deleteMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { readInviteLink } from '../../../../commands/organisation/accept-invite.ts';
import { listInvites } from '../../../../read-api/organisation/list-invites.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { InviteWorld, PASSWORD } from '../../../support/worlds/invite-world.ts';

const DAY_MS = 24 * 60 * 60_000;

const issuePaths = (error: unknown): readonly string[] =>
  z
    .object({ details: z.object({ issues: z.array(z.object({ path: z.string() })) }) })
    .parse(error)
    .details.issues.map(({ path }) => path);

describe('inviting', () => {
  let world: InviteWorld;
  beforeEach(async () => {
    world = await InviteWorld.open();
  });

  const asOwner = async () => ({ token: await world.gateway.signIn() });

  it(`makes, lists, sends again and withdraws invites ${verifies('contract:17:invites', 'contract:17:route-invites')}`, async () => {
    const mailboxId = await world.mailbox();
    const made = await world.invite({
      email: ' Ida@Example.net',
      role: 'approver',
      mailbox_grants: [{ mailbox_id: mailboxId, preset: 'reader', folder_roles: ['inbox'] }],
    });
    expect(made).to.deep.include({ email: 'Ida@Example.net', role: 'approver' });
    expect(made.mailbox_grants).to.deep.equal([
      {
        mailbox_id: mailboxId,
        scopes: ['messages:read', 'messages:body', 'attachments:read', 'folders:read', 'drafts:read'],
        folder_roles: ['inbox'],
      },
    ]);
    const listed = await world.gateway.call<{ items: Invite[] }>(listInvites, {}, await asOwner());
    expect(listed.items).to.deep.equal([made]);
    const link = await world.linkOf(made);
    world.gateway.clock.advance(DAY_MS);
    const again = await world.gateway.call<Invite>(resendInvite, { invite_id: made.id }, await asOwner());
    expect(Date.parse(again.expires_at) - Date.parse(made.expires_at)).to.be.within(DAY_MS, DAY_MS + 1_000);
    expect(await rejection(world.accept(link))).to.include({ code: 'invalid_credentials' });
    const mails = world.gateway.events.all.filter(({ type }) => type === 'SystemMailRequested');
    expect(mails.map(({ data }) => data)).to.deep.equal(
      [1, 2].map(() => ({ kind: 'invite', user_id: null, to: null, invite_id: made.id })),
    );
    await world.gateway.call(deleteInvite, { invite_id: made.id }, await asOwner());
    expect(world.state.invites.size).to.equal(0);
    const gone = world.gateway.call(resendInvite, { invite_id: made.id }, await asOwner());
    expect(await rejection(gone)).to.include({ code: 'not_found' });
  });

  it('lists no invite that has expired, before the background work ends it', async () => {
    const early = await world.invite();
    world.gateway.clock.advance(DAY_MS);
    const late = await world.invite();
    world.gateway.clock.advance(6 * DAY_MS);
    const { items } = await world.gateway.call<{ items: Invite[] }>(listInvites, {}, await asOwner());
    expect(items.map(({ id }) => id)).to.deep.equal([late.id]);
    expect(world.state.invites.has(early.id)).to.equal(true);
  });

  it('forgets link and address of an invite to a person who is removed', async () => {
    const ida = await world.account('ida@example.net');
    const made = await world.invite({ email: 'ida@example.net' });
    const link = await world.linkOf(made);
    await world.join(ida, 'member', world.orgId);
    await world.gateway.call(removeMemberCapability, { user_id: ida }, await asOwner());
    expect(await world.links.find('invite', link)).to.equal(null);
    expect(world.gateway.ports.personal).to.have.property('erased').that.includes(made.id);
  });

  it('forgets link and address of an invite that expired', async () => {
    const made = await world.invite();
    const token = await world.links.make('invite', made.id, world.orgId, new Date('2027-01-01T00:00:00Z'));
    world.gateway.clock.advance(8 * DAY_MS);
    for (const each of leftBehind(world.state, world.ports.clock.now()))
      await settleDeparture(world.ports, each);
    expect(await world.links.find('invite', token)).to.equal(null);
  });

  it('seals the address under a key of the invite, which ends with it', async () => {
    const { id } = await world.invite({ email: 'ida@example.net' });
    const [created] = world.gateway.events.all.filter(({ type }) => type === 'InviteCreated');
    expect(created?.data['email']).to.equal(`sealed:${id}:ida@example.net`);
    await world.gateway.call(deleteInvite, { invite_id: id }, await asOwner());
    expect(await world.ports.personal.open(created?.data['email'] as never)).to.equal(null);
  });

  it(`refuses a role above one's own, a member, and an address that is invited ${verifies('contract:20:invite-roles')}`, async () => {
    const admin = await world.member('admin');
    expect(await rejection(world.invite({ role: 'owner' }, admin))).to.include({
      code: 'insufficient_scope',
    });
    const member = await world.member('member', 'mia@example.net');
    expect(await rejection(world.invite({ email: 'MIA@example.net' }))).to.deep.include({
      code: 'conflict',
      details: { user_id: member },
    });
    const first = await world.invite({ email: 'ida@example.net' });
    expect(await rejection(world.invite({ email: 'Ida@example.net' }, admin))).to.deep.include({
      code: 'conflict',
      details: { invite_id: first.id },
    });
    expect(await rejection(world.invite({}, member))).to.include({ code: 'insufficient_scope' });
    world.gateway.clock.advance(7 * DAY_MS);
    await world.invite({ email: 'ida@example.net' });
  });

  it('makes one invite of two requests for one address', async () => {
    const email = 'ida@example.net';
    const both = await Promise.allSettled([world.invite({ email }), world.invite({ email })]);
    expect(both.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
    expect(world.state.invites.size).to.equal(1);
  });

  it('explains what is wrong with a field', async () => {
    const mailboxId = await world.mailbox();
    const grant = { mailbox_id: mailboxId, preset: 'reader' };
    const issueOf = async (input: object): Promise<unknown> => {
      return issuePaths(await rejection(world.invite(input)))[0];
    };
    expect(await issueOf({ email: 'ida' })).to.equal('email');
    expect(await issueOf({ role: 'boss' })).to.equal('role');
    expect(await issueOf({ mailbox_grants: [grant, grant] })).to.equal('mailbox_grants');
    const both = { ...grant, scopes: ['messages:read'] };
    expect(await issueOf({ mailbox_grants: [both] })).to.equal('mailbox_grants.0.scopes');
    const unknown = world.invite({ mailbox_grants: [{ ...grant, mailbox_id: 'mbx_0' }] });
    expect(await rejection(unknown)).to.include({
      code: 'not_found',
      message: 'There is no mailbox mbx_0 here; GET /mailboxes lists them.',
    });
  });
});

describe('an accepted invite', () => {
  let world: InviteWorld;
  beforeEach(async () => {
    world = await InviteWorld.open();
  });

  const newPerson = (email: string): string =>
    [...world.state.people.values()].find((person) => person.email === email)?.id ?? 'nobody';
  const grantsOf = (userId: string) =>
    [...world.state.grants.values()].filter(({ principalId }) => principalId === userId);

  it(`shows what it offers, without being used up ${verifies('contract:18:invite-link')}`, async () => {
    const made = await world.invite({ email: 'ida@example.net', role: 'auditor' });
    const token = await world.linkOf(made);
    const offered = {
      org: { name: 'Example' },
      role: 'auditor',
      invited_by: { name: 'Olive Owner' },
      email: 'ida@example.net',
      has_account: false,
      expires_at: made.expires_at,
    };
    expect(await world.publicCall(readInviteLink, { token })).to.deep.equal(offered);
    expect(await world.publicCall(readInviteLink, { token })).to.deep.equal(offered);
    await world.accept(token);
    for (const call of [world.publicCall(readInviteLink, { token }), world.accept(token)]) {
      const refused = await rejection(call);
      expect(refused).to.include({ code: 'invalid_credentials' });
      expect(String(refused)).to.match(/ask the person who invited you to send the invite again\.$/);
    }
  });

  it(`makes an account, a member and the grants ${verifies('contract:18:accept-invite')}`, async () => {
    const mailboxId = await world.mailbox();
    const grant = { mailbox_id: mailboxId, scopes: ['messages:read'], folder_roles: ['inbox'] };
    const made = await world.invite({ email: 'ida@example.net', mailbox_grants: [grant] });
    await world.accept(await world.linkOf(made));
    const userId = newPerson('ida@example.net');
    expect(world.state.people.get(userId)).to.include({ name: 'Ida Invited', isVerified: true });
    expect(world.roleOf(userId)).to.equal('member');
    expect(grantsOf(userId)).to.have.length(1);
    expect(grantsOf(userId)[0]).to.deep.include({
      mailboxId,
      scopes: ['messages:read'],
      folderRoles: ['inbox'],
    });
    expect(world.state.invites.size).to.equal(0);
    expect(await world.ports.secrets.verifyPassword(userId, PASSWORD)).not.to.equal(null);
    const log = JSON.stringify(world.gateway.events.all.map(({ data }) => data));
    expect(log).not.to.contain(PASSWORD);
  });

  it('needs a name and a good password for a new account, and nothing for one there is', async () => {
    const token = await world.linkOf(await world.invite({ email: 'ida@example.net' }));
    const refused = await rejection(world.accept(token, { password: 'short' }));
    expect(issuePaths(refused)).to.have.members(['name', 'password']);
    await world.accept(token);
    const other = await world.member('member', 'mia@example.net');
    await world.gateway.ports.secrets.savePassword(other, 'as it was' as never);
    const before = world.state.people.size;
    await world.remove(other);
    await world.accept(
      await world.linkOf(await world.invite({ email: 'mia@example.net', role: 'auditor' })),
      {
        password: 'short',
      },
    );
    expect(world.roleOf(other)).to.equal('auditor');
    expect(world.state.people.size).to.equal(before);
    expect(await world.ports.secrets.verifyPassword(other, 'as it was')).not.to.equal(null);
  });

  it('leaves a grant out whose mailbox is gone or that the person has', async () => {
    const mailboxId = await world.mailbox();
    const made = await world.invite({ mailbox_grants: [{ mailbox_id: mailboxId, preset: 'reader' }] });
    await world.gateway.call(deleteMailbox, { mailbox_id: mailboxId });
    await world.accept(await world.linkOf(made));
    expect(world.roleOf(newPerson(made.email))).to.equal('member');
    expect(grantsOf(newPerson(made.email))).to.deep.equal([]);
  });

  it(`is refused when the inviter may no longer give the role ${verifies('contract:20:invite-roles')}`, async () => {
    const admin = await world.member('admin');
    const token = await world.linkOf(await world.invite({ role: 'admin' }, admin));
    await world.setRole(admin, 'member');
    expect(await rejection(world.accept(token))).to.include({
      code: 'conflict',
      message:
        'The person who invited you may no longer give this role; ask another administrator for an invite.',
    });
    expect(world.gateway.secrets.passwords.size).to.equal(1);
  });

  it('makes no account where sign-up is closed', async () => {
    const token = await world.linkOf(await world.invite());
    const closed = { ...world.ports, server: { ...world.ports.server, signUp: 'closed' as const } };
    const refused = await rejection(world.accept(token, undefined, closed));
    expect(refused).to.include({ code: 'operation_unsupported' });
  });
});
