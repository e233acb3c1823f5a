import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import {
  eraseAccount,
  listErasures,
  settleErasure,
} from '../../../../commands/organisation/erase-account.ts';
import { deleteInvite } from '../../../../commands/organisation/manage-invites.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { carryOutInvite } from '../../../../commands/organisation/carry-out-invite.ts';
import { aroundAppends } from '../../../support/fakes/around-appends.ts';
import { dyingAfter } from '../../../support/fakes/dying-ports.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { timesOf } from '../../../support/suite/long.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { InviteWorld, PASSWORD } from '../../../support/worlds/invite-world.ts';

const TIMES = timesOf(50, 1_000);
const MOST_TURNS = 12;

/** A writer that is slower than the other by a few turns, differently each time. */
const unsteady = (ports: Ports, most = MOST_TURNS): Ports => {
  const wait = async (): Promise<void> => {
    const turns = Math.floor(Math.random() * most);
    for (let turn = 0; turn < turns; turn += 1) await setImmediate();
  };
  return aroundAppends(ports, wait, wait);
};

type Ended = PromiseSettledResult<unknown>;
const isDone = ({ status }: Ended): boolean => status === 'fulfilled';
const codeOf = (ended: Ended): unknown =>
  ended.status === 'rejected' ? (ended.reason as { code?: unknown }).code : 'done';

describe('a race between two requests', function () {
  this.timeout(timesOf(120_000, 900_000));
  let world: InviteWorld;
  beforeEach(async () => {
    world = await InviteWorld.open();
  });

  const both = (left: (ports: Ports) => Promise<unknown>, right: (ports: Ports) => Promise<unknown>) =>
    Promise.allSettled([left(unsteady(world.ports)), right(unsteady(world.ports))]);
  /** Runs it often; both sides have to win at times, so that the race is one. */
  const often = async (race: () => Promise<'left' | 'right'>): Promise<void> => {
    const won = { left: 0, right: 0 };
    for (let time = 0; time < TIMES; time += 1) won[await race()] += 1;
    expect(won.left, JSON.stringify(won)).to.be.greaterThan(0);
    expect(won.right, JSON.stringify(won)).to.be.greaterThan(0);
  };
  const personAt = (email: string): string =>
    [...world.state.people.values()].find((person) => person.email === email)?.id ?? 'nobody';

  it(`accepts an invite once, with the password of the winner ${verifies('contract:18:accept-once')}`, async () => {
    await often(async () => {
      const made = await world.invite();
      const link = await world.linkOf(made);
      const stored = world.gateway.secrets.passwords.size;
      const accept = (password: string) => (ports: Ports) =>
        world.accept(link, { name: 'Ida', password }, ports);
      const passwords = [`${PASSWORD} of one`, `${PASSWORD} of another`] as const;
      const ended = await both(accept(passwords[0]), accept(passwords[1]));
      expect(ended.map(codeOf)).to.have.members(['done', 'invalid_credentials']);
      const winner = isDone(ended[0]) ? 'left' : 'right';
      const userId = personAt(made.email);
      expect(world.roleOf(userId)).to.equal('member');
      expect(world.gateway.secrets.passwords.get(userId)).to.equal(passwords[winner === 'left' ? 0 : 1]);
      expect(world.gateway.secrets.passwords.size).to.equal(stored + 1);
      return winner;
    });
  });

  it('leaves the account alone when a slower writer finds the address of the invite erased', async () => {
    const made = await world.invite();
    const doomed = dyingAfter(world.ports, /^InviteAccepted$/);
    await rejection(world.accept(await world.linkOf(made), { name: 'Ida', password: PASSWORD }, doomed));
    await world.catchUp();
    const author = systemAuthor(world.ports, world.orgId);
    const { personal } = world.ports;
    let isFirst = true;
    const slow: Ports = {
      ...world.ports,
      personal: {
        ...personal,
        open: async (sealed) => {
          // It has seen that there is no account; before it opens the address, the other one does all.
          if (isFirst) {
            isFirst = false;
            await carryOutInvite(world.ports, author, made.id);
          }
          return await personal.open(sealed);
        },
      },
    };
    expect((await carryOutInvite(slow, author, made.id)).failed).to.equal(null);
    expect(isFirst).to.equal(false);
    const userId = personAt(made.email);
    expect(world.roleOf(userId)).to.equal('member');
    expect(world.gateway.secrets.passwords.get(userId)).to.equal(PASSWORD);
    expect(await personal.open(await personal.seal(userId, 'readable'))).to.equal('readable');
  });

  it('accepts an invite or withdraws it', async () => {
    const token = await world.gateway.signIn();
    await often(async () => {
      const made = await world.invite();
      const link = await world.linkOf(made);
      const ended = await both(
        (ports) => world.accept(link, undefined, ports),
        (ports) => world.invokeWith(ports, deleteInvite, { invite_id: made.id }, token),
      );
      expect(ended.filter(isDone)).to.have.length(1);
      expect(world.roleOf(personAt(made.email))).to.equal(isDone(ended[0]) ? 'member' : undefined);
      expect(world.state.invites.has(made.id)).to.equal(false);
      return isDone(ended[0]) ? 'left' : 'right';
    });
  });

  it('does not make a removed person a member again', async () => {
    await often(async () => {
      const email = world.newAddress();
      const userId = await world.account(email);
      const made = await world.invite({ email });
      const link = await world.linkOf(made);
      const ended = await both(
        (ports) => world.accept(link, {}, ports),
        (ports) => world.removeSoon(userId, ports),
      );
      expect(codeOf(ended[1])).to.equal('done');
      await world.sweep();
      expect(world.roleOf(userId)).to.equal(undefined);
      const types = world.gateway.events.all.map(({ type }) => type);
      return types.lastIndexOf('InviteSettled') < types.lastIndexOf('MemberRemoved') ? 'left' : 'right';
    });
  });

  it('adds a member only while the inviter may give the role', async () => {
    await often(async () => {
      const inviter = await world.member('admin');
      const made = await world.invite({ role: 'admin' }, inviter);
      const link = await world.linkOf(made);
      const ended = await both(
        (ports) => world.accept(link, undefined, ports),
        // It has one append, the acceptance several.
        (ports) => world.setRole(inviter, 'member', 'operator', unsteady(ports, 8 * MOST_TURNS)),
      );
      await world.sweep();
      const stream = await world.ports.events.readStream(`organisation-${world.orgId}`);
      const at = (type: string, userId: string): number =>
        stream.findIndex((event) => event.type === type && event.data['user_id'] === userId);
      const userId = personAt(made.email);
      const joined = at('MemberAdded', userId);
      expect(isDone(ended[0])).to.equal(joined >= 0);
      if (joined >= 0) expect(joined).to.be.lessThan(at('MemberRoleChanged', inviter));
      expect(world.roleOf(userId)).to.equal(joined >= 0 ? 'admin' : undefined);
      return joined >= 0 ? 'left' : 'right';
    });
  });

  it(`leaves every organisation an owner ${verifies('contract:17:erase-account')}`, async () => {
    const author = systemAuthor(world.ports, null);
    await often(async () => {
      const [ann, bea] = [await world.member('member'), await world.member('member')];
      const orgIds = [await world.found(ann), await world.found(ann)];
      for (const orgId of orgIds) await world.join(bea, 'owner', orgId);
      const ended = await both(
        (ports) => eraseAccount(ports, author, ann),
        (ports) => eraseAccount(ports, author, bea),
      );
      for (const { id } of listErasures(world.ports)) await settleErasure(world.ports, id);
      expect(listErasures(world.ports)).to.deep.equal([]);
      const left = [ann, bea].filter((id) => world.state.people.has(id));
      expect(left).to.have.length(1);
      for (const orgId of orgIds) expect(left.map((id) => world.roleOf(id, orgId))).to.include('owner');
      expect(ended.filter(isDone)).to.have.length(1);
      return isDone(ended[0]) ? 'left' : 'right';
    });
  });
});
