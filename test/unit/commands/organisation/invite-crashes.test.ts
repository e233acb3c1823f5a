import { expect } from 'chai';
import {
  eraseAccount,
  listErasures,
  settleErasure,
} from '../../../../commands/organisation/erase-account.ts';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import { account } from '../../../../commands/accounts/account.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { dyingAfter, dyingAt } from '../../../support/fakes/dying-ports.ts';
import { aroundAppends } from '../../../support/fakes/around-appends.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { InviteWorld, PASSWORD } from '../../../support/worlds/invite-world.ts';

const idOf = (person: { readonly id: string } | undefined): string => person?.id ?? 'nobody';
const END = '2026-03-10T00:00:00Z';
const SECOND_PASSWORD = 'another long passphrase';

/** The number of appends of some work. */
async function appendsOf(work: (ports: InviteWorld['ports']) => Promise<unknown>, { ports }: InviteWorld) {
  let count = 0;
  await work(
    aroundAppends(
      ports,
      () => Promise.resolve(),
      () => {
        count += 1;
        return Promise.resolve();
      },
    ),
  );
  return count;
}

/** Ports of a process that dies in one step of an erasure, for that owner: before it, or right after it. */
function dyingIn(
  { links, secrets, devices, personal, ...ports }: InviteWorld['ports'],
  step: 'withdraw' | 'erasePassword' | 'forget' | 'erase',
  { ownerId, isDone }: { readonly ownerId: string; readonly isDone: boolean },
): InviteWorld['ports'] {
  const parts = { links, secrets, devices, personal } as unknown as Record<string, Record<string, unknown>>;
  const dying = Object.entries(parts).map(([name, part]): [string, unknown] => {
    const work = part[step];
    if (typeof work !== 'function') return [name, part];
    const doomed = async (...given: unknown[]): Promise<unknown> => {
      const isIt = given[0] === ownerId;
      const done: unknown = isDone || !isIt ? await Reflect.apply(work, part, given) : null;
      if (!isIt) return done;
      throw new ProcessGone();
    };
    const get = (of: object, key: string | symbol): unknown =>
      key === step ? doomed : Reflect.get(of, key, of);
    return [name, new Proxy(part, { get })];
  });
  return { ...ports, ...Object.fromEntries(dying) } as unknown as InviteWorld['ports'];
}

const FORMER = 'org_former';
const actorOf = (id: string) => ({ type: 'person' as const, id, token_id: null, session_id: null });
const verified = { type: 'EmailVerified' as const, data: {} };

describe('a process that dies at any append', function () {
  this.timeout(120_000);

  const invited = async () => {
    const world = await InviteWorld.open();
    const mailboxId = await world.mailbox();
    const grants = [{ mailbox_id: mailboxId, preset: 'reader' }];
    const made = await world.invite({ email: 'ida@example.net', mailbox_grants: grants });
    return { world, mailboxId, made, link: await world.linkOf(made) };
  };

  it(`leaves an acceptance that is finished ${verifies('contract:18:accept-once')}`, async () => {
    const { world: rehearsal, link: first } = await invited();
    const appends = await appendsOf((ports) => rehearsal.accept(first, undefined, ports), rehearsal);
    expect(appends).to.equal(6);
    for (let index = 0; index < appends; index += 1) {
      for (const isWritten of [false, true]) {
        const { world, mailboxId, made, link } = await invited();
        const at = `append ${String(index)}, written: ${String(isWritten)}`;
        const doomed = dyingAt(world.ports, index, isWritten);
        const [ended] = await Promise.allSettled([world.accept(link, undefined, doomed)]);
        expect(ended.status, at).to.equal('rejected');
        await world.catchUp();
        const isClaimed = index > 0 || isWritten;
        await world.sweep();
        if (!isClaimed) await world.accept(link, { name: 'Ida', password: SECOND_PASSWORD });
        const ida = [...world.state.people.values()].find(({ email }) => email === made.email);
        expect(world.roleOf(idOf(ida)), at).to.equal('member');
        expect(world.state.grantIds.get(mailboxId)?.has(idOf(ida)), at).to.equal(true);
        const password = isClaimed ? PASSWORD : SECOND_PASSWORD;
        expect(world.gateway.secrets.passwords.get(idOf(ida)), at).to.equal(password);
        expect(world.state.invites.size, at).to.equal(0);
        expect(await world.links.find('invite', link), at).to.equal(null);
        const members = world.gateway.events.all.filter(({ type }) => type === 'MemberAdded');
        expect(members, at).to.have.length(2);
      }
    }
  });

  it('does not bring a person back who was removed meanwhile', async () => {
    const { world, made, link } = await invited();
    await Promise.allSettled([world.accept(link, undefined, dyingAfter(world.ports, /MemberAdded/))]);
    await world.catchUp();
    const ida = [...world.state.people.values()].find(({ email }) => email === made.email);
    await world.remove(idOf(ida));
    await world.sweep();
    expect(world.roleOf(idOf(ida))).to.equal(undefined);
    expect(world.gateway.events.all.at(-1)).to.deep.include({
      type: 'InviteEnded',
      data: { reason: 'member_removed' },
    });
  });

  const withMuch = async () => {
    const world = await InviteWorld.open();
    const ann = await world.member('admin', 'ann@example.net');
    const token = await world.gateway.signIn(ann);
    const { id } = await world.gateway.call<{ id: string }>(createAgent, { name: 'Bot' }, { token });
    for (const principal_id of [ann, id]) {
      const wanted = { name: 'One', surface: 'rest', scopes: ['messages:read'], expires_at: END };
      await world.gateway.call(createToken, { ...wanted, principal_id }, { token });
    }
    await world.ports.secrets.savePassword(ann, PASSWORD as never);
    // Of another organisation she was a member once.
    const former = { ...systemAuthor(world.ports, FORMER), actor: { ...actorOf(ann) } };
    await decideAndAppend(world.ports, former, account, { id: ann, decide: () => [verified] });
    return { world, ann, agentId: id };
  };
  const erase = (world: InviteWorld, ann: string) => (ports: InviteWorld['ports']) =>
    eraseAccount(ports, systemAuthor(world.ports, null), ann);

  /** The organisation of each line that tells of the erased key. */
  const toldIn = ({ gateway }: InviteWorld, ownerId: string): readonly unknown[] =>
    gateway.events.all
      .filter(({ streamName }) => streamName === `personalData-${ownerId}`)
      .map(({ type, data, metadata }) => {
        expect([type, data]).to.deep.equal([
          'PersonalDataErased',
          { owner_id: ownerId, basis: 'account_erased' },
        ]);
        return metadata['org_id'];
      });

  it(`leaves an erasure that is finished ${verifies('contract:12:erasure', 'contract:12:erasure-told')}`, async () => {
    const rehearsal = await withMuch();
    const appends = await appendsOf(erase(rehearsal.world, rehearsal.ann), rehearsal.world);
    expect(appends).to.equal(13);
    for (let index = 0; index < appends; index += 1) {
      for (const isWritten of [false, true]) {
        const { world, ann, agentId } = await withMuch();
        const at = `append ${String(index)}, written: ${String(isWritten)}`;
        const doomed = dyingAt(world.ports, index, isWritten);
        const [ended] = await Promise.allSettled([erase(world, ann)(doomed)]);
        expect(ended.status, at).to.equal('rejected');
        await world.catchUp();
        if (index === 0 && !isWritten) {
          expect(world.roleOf(ann), at).to.equal('admin');
          continue;
        }
        for (const { id } of listErasures(world.ports)) await settleErasure(world.ports, id);
        expect(world.state.people.has(ann), at).to.equal(false);
        expect(world.state.agents.has(agentId), at).to.equal(false);
        const { tokens } = world.state;
        const left = [...tokens.values()].filter(({ principalId }) => [ann, agentId].includes(principalId));
        expect(left, at).to.deep.equal([]);
        expect(world.gateway.secrets.passwords.has(ann), at).to.equal(false);
        expect(await world.ports.personal.open(`sealed:${ann}:A admin` as never), at).to.equal(null);
        expect(await world.member('member', 'ann@example.net'), at).not.to.equal(ann);
        const mails = world.gateway.events.all.filter(({ type }) => type === 'SystemMailRequested');
        expect(mails, at).to.have.length(1);
        expect(toldIn(world, ann), at).to.deep.equal([world.orgId, FORMER, null]);
        expect(toldIn(world, agentId), at).to.deep.equal([world.orgId]);
        expect(await world.ports.personal.isErased(agentId), at).to.equal(true);
      }
    }
  });

  const STEPS = [
    ...(['withdraw', 'erasePassword', 'forget', 'erase'] as const).map((step) => [step, 'person'] as const),
    ['erase', 'agent'],
  ] as const;

  for (const [step, whose] of STEPS)
    it(`finishes an erasure that ended before or after "${step}" of the ${whose} ${verifies('contract:12:erasure-told')}`, async () => {
      for (const isDone of [false, true]) {
        const { world, ann, agentId } = await withMuch();
        const ownerId = whose === 'person' ? ann : agentId;
        const doomed = dyingIn(world.ports, step, { ownerId, isDone });
        const [ended] = await Promise.allSettled([erase(world, ann)(doomed)]);
        expect(ended.status).to.equal('rejected');
        await world.catchUp();
        expect(toldIn(world, ann)).to.deep.equal([]);
        expect(listErasures(world.ports).map(({ id }) => id)).to.deep.equal([ann]);
        await settleErasure(world.ports, ann);
        await settleErasure(world.ports, ann);
        expect(toldIn(world, ann)).to.deep.equal([world.orgId, FORMER, null]);
        expect(toldIn(world, agentId)).to.deep.equal([world.orgId]);
        expect(await world.ports.personal.isErased(agentId)).to.equal(true);
        expect(await world.ports.personal.open(`sealed:${ann}:A admin` as never)).to.equal(null);
        expect(world.state.people.has(ann)).to.equal(false);
        expect(world.gateway.events.all.at(-1)?.type).to.equal('AccountErased');
      }
    });
});
