import { expect } from 'chai';
import { account, startErasure } from '../../../../commands/accounts/account.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { releaseAsOperator } from '../../../../commands/legal-holds/manage-holds.ts';
import { heldContent, holdsAgainst } from '../../../../commands/kernel/legal-holds.ts';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
import { leftBehind, settleDeparture } from '../../../../commands/organisation/departures.ts';
import { deleteOrganisation } from '../../../../commands/organisation/manage-organisation.ts';
import { deleteAgent, updateAgent } from '../../../../commands/organisation/manage-agents.ts';
import {
  deleteOrganisation as decideDeletion,
  organisation,
} from '../../../../commands/organisation/organisation.ts';
import { eraseMailboxContent, listDueErasures } from '../../../../commands/mailboxes/erase-mailbox.ts';
import { deleteMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { eraseAccount, settleErasure } from '../../../../commands/organisation/erase-account.ts';
import { deleteMe } from '../../../../commands/organisation/own-account.ts';
import { personCommand } from '../../../../infra/admin/person-command.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { askedFor, wentOn } from '../../../support/samples/sample-approvals.ts';
import { HoldWorld } from '../../../support/worlds/hold-world.ts';

const WEEK_MS = 7 * 86_400_000;

describe('a legal hold on the owner of agents', () => {
  it(`keeps the drafts of an agent that is deleted or gets another owner, before the hold or after it ${verifies('contract:12:hold-blocks')}`, async () => {
    const { world, ...holds } = await opened();
    const mailboxId = await world.mailbox();
    const ann = await world.member('admin');
    const bea = await world.member('member');
    const own = { token: await world.gateway.signIn(ann) };
    const made = async (name: string): Promise<string> =>
      (await world.gateway.call<{ id: string }>(createAgent, { name }, own)).id;
    const end = async (agentIds: readonly string[]): Promise<void> => {
      const [deleted = '', handedOver = ''] = agentIds;
      await world.gateway.call(deleteAgent, { agent_id: deleted }, own);
      await world.gateway.call(updateAgent, { agent_id: handedOver, owner_id: bea }, own);
    };
    const before = [await made('One'), await made('Two')];
    const after = [await made('Three'), await made('Four')];
    await end(before);
    const { id } = await holds.place(ann);
    await end(after);
    const all = [...before, ...after];
    for (const startedBy of all) {
      const loss = { kind: 'draft', draftId: 'drf_1', mailboxId, startedBy } as const;
      expect(holdsAgainst(world.state, loss).map((hold) => hold.id)).to.deep.equal([id]);
    }
    expect(heldContent(world.state)?.startedBy).to.have.members(
      [ann, ...all].map((by) => `${world.orgId}/${by}`),
    );
  });

  it(`keeps the account of the present owner, with whose erasure the key of the agent would go ${verifies('contract:12:hold-blocks')}`, async () => {
    const { world, ...holds } = await opened();
    const [ann, bea] = [await world.member('admin'), await world.member('member')];
    const own = { token: await world.gateway.signIn(ann) };
    const { id: agent_id } = await world.gateway.call<{ id: string }>(createAgent, { name: 'One' }, own);
    const { id } = await holds.place(ann);
    const lossOf = (userId: string) => holdsAgainst(world.state, { kind: 'account', userId, approvals: [] });
    expect([lossOf(ann).length, lossOf(bea).length]).to.deep.equal([1, 0]);
    await world.gateway.call(updateAgent, { agent_id, owner_id: bea }, own);
    expect(lossOf(bea).map((hold) => hold.id)).to.deep.equal([id]);
  });

  const opened = async () => {
    const holds = await HoldWorld.open();
    return { world: holds.world, place: (userId: string) => holds.place([{ type: 'person', id: userId }]) };
  };
});

describe('a legal hold on an approval or its mailbox', () => {
  const NAME = '0'.repeat(26);

  for (const type of ['approval', 'mailbox'] as const)
    it(`keeps the accounts without whose keys the reasons in its lines cannot be read: ${type} ${verifies('contract:12:hold-blocks')}`, async () => {
      const holds = await HoldWorld.open();
      const { world } = holds;
      const { events } = world.gateway;
      const mailboxId = await world.mailbox();
      const member = (role: 'admin' | 'member') => world.member(role);
      const [requester, voter, other] = [
        await member('member'),
        await member('admin'),
        await member('admin'),
      ];
      const own = { token: await world.gateway.signIn(requester) };
      const agent = await world.gateway.call<{ id: string }>(createAgent, { name: 'One' }, own);
      await askedFor(events, NAME, { requester: agent.id, orgId: world.orgId, mailboxId });
      await wentOn(events, NAME, 'ApprovalVoteCast', { actorId: voter });
      await world.catchUp();
      const { id } = await holds.place([{ type, id: type === 'mailbox' ? mailboxId : `chk_${NAME}` }]);
      for (const [userId, seen] of [
        [requester, []],
        [voter, [id]],
      ] as const) {
        const erasure = world.gateway.call(deleteMe, {}, { token: await world.gateway.signIn(userId) });
        expect(await rejection(erasure)).to.deep.include({ code: 'legal_hold', details: { holds: seen } });
        expect(holds.typesOf(`account-${userId}`)).not.to.include('AccountErasureStarted');
      }
      const lines = holds.refusals.filter(({ data }) => data['code'] === 'legal_hold');
      expect(lines.map(({ data }) => data['capability'])).to.deep.equal(['delete_me', 'delete_me']);
      await world.gateway.call(deleteMe, {}, { token: await world.gateway.signIn(other) });
      expect(holds.typesOf(`account-${other}`)).to.include('AccountErased');
      await holds.release(id);
      await holds.release(id, voter);
      await world.gateway.call(deleteMe, {}, { token: await world.gateway.signIn(requester) });
      expect(holds.typesOf(`account-${requester}`)).to.include('AccountErased');
    });

  it(`has an erasure wait that had begun, until its release ${verifies('contract:12:hold-erasures')}`, async () => {
    const holds = await HoldWorld.open();
    const { world } = holds;
    const mailboxId = await world.mailbox();
    const ann = await world.member('member');
    await askedFor(world.gateway.events, NAME, { requester: ann, orgId: world.orgId, mailboxId });
    await decideAndAppend(world.ports, systemAuthor(world.ports, null), account, {
      id: ann,
      decide: (state) => startErasure(state, []),
    });
    await world.catchUp();
    const { id } = await holds.place([{ type: 'approval', id: `chk_${NAME}` }]);
    await holds.sweep('account-erasures');
    expect(world.state.legalHolds.get(id)?.postponed).to.deep.equal([ann]);
    expect(await holds.sweep('account-erasures')).to.deep.equal([]);
    const admin = await world.member('admin');
    await holds.release(id);
    await holds.release(id, admin);
    expect(await holds.sweep('account-erasures')).to.deep.equal([ann]);
    expect(world.state.people.has(ann)).to.equal(false);
  });

  for (const [when, of, step] of [
    ['until no process lets a request of theirs in', 'directory', 'waitForAll'],
    ['until the end of the key', 'devices', 'forget'],
  ] as const)
    it(`has an erasure wait for what the person began before and ends ${when} ${verifies('contract:12:hold-erasures')}`, async () => {
      const holds = await HoldWorld.open();
      const { world } = holds;
      const mailboxId = await world.mailbox();
      const ann = await world.member('member');
      const { id } = await holds.place([{ type: 'mailbox', id: mailboxId }]);
      const port = world.ports[of] as unknown as Record<string, (given: unknown) => Promise<void>>;
      const before = port[step]?.bind(port);
      port[step] = async (given) => {
        await askedFor(world.gateway.events, NAME, { requester: ann, orgId: world.orgId, mailboxId });
        await before?.(given);
      };
      const erasure = eraseAccount(world.ports, systemAuthor(world.ports, null), ann);
      expect(await rejection(erasure)).to.include({ code: 'legal_hold' });
      expect(await world.ports.personal.isErased(ann)).to.equal(false);
      if (of === 'directory')
        expect(holds.typesOf(`organisation-${world.orgId}`)).not.to.include('MemberRemoved');
      await holds.sweep('account-erasures');
      expect(world.state.legalHolds.get(id)?.postponed).to.deep.equal([ann]);
    });
});

describe('an erasure under a legal hold', () => {
  let holds: HoldWorld;
  beforeEach(async () => {
    holds = await HoldWorld.open();
  });

  const postponed = (id: string): number =>
    holds.typesOf(`legalHold-${id}`).filter((type) => type === 'PersonalDataErasurePostponed').length;
  /** By the owner and an admin. */
  const release = async (id: string): Promise<void> => {
    const admin = await holds.world.member('admin');
    await holds.release(id);
    await holds.release(id, admin);
  };

  it(`is refused, which is a line, and names the hold to who manages holds ${verifies('contract:12:hold-blocks')}`, async () => {
    const { world } = holds;
    const [admin, member] = [await world.member('admin'), await world.member('member')];
    const { id } = await holds.place([
      { type: 'person', id: admin },
      { type: 'person', id: member },
    ]);
    for (const [userId, seen] of [
      [admin, [id]],
      [member, []],
    ] as const) {
      const token = await world.gateway.signIn(userId);
      const error = await rejection(world.gateway.call(deleteMe, {}, { token }));
      expect(error).to.deep.include({ code: 'legal_hold', details: { holds: seen } });
      expect(holds.typesOf(`account-${userId}`)).not.to.include('AccountErasureStarted');
    }
    const refused = holds.refusals.filter(({ data }) => data['code'] === 'legal_hold');
    expect(refused.map(({ data, type }) => [type, data['capability']])).to.deep.equal([
      ['RequestRefused', 'delete_me'],
      ['RequestRefused', 'delete_me'],
    ]);
  });

  it('is refused to the operator, which is a line in the organisation of the hold', async () => {
    const { world } = holds;
    const ann = await world.member('member', 'ann@example.net');
    const { id } = await holds.place([{ type: 'person', id: ann }]);
    const given = { email: 'ann@example.net', role: undefined, name: undefined, org: undefined };
    expect(String(await rejection(personCommand(world.ports, { verb: 'erase', ...given })))).to.include(id);
    expect(holds.refusals.map(({ data, metadata }) => [data['code'], metadata['org_id']])).to.deep.equal([
      ['legal_hold', world.orgId],
    ]);
    let asked = 0;
    const approvalsOf = () =>
      ++asked === 1 ? Promise.resolve([]) : Promise.reject(new GatewayError('index_building', 'Not yet.'));
    const behind = { ...world.ports, trails: { ...world.ports.trails, approvalsOf } };
    const refused = await rejection(personCommand(behind, { verb: 'erase', ...given }));
    expect(refused, 'the read models fell behind').to.include({ code: 'legal_hold' });
    await release(id);
    expect(await personCommand(world.ports, { verb: 'erase', ...given })).to.include('is erased');
  });

  it(`waits when it had begun, is recorded once, and is resumed after the release ${verifies('contract:12:hold-erasures')}`, async () => {
    const { world } = holds;
    const ann = await world.member('member', 'ann@example.net');
    await world.ports.secrets.savePassword(ann, 'any' as never);
    // As a process leaves it that dies right after the first step.
    await decideAndAppend(world.ports, systemAuthor(world.ports, null), account, {
      id: ann,
      decide: (state) => startErasure(state, []),
    });
    await world.catchUp();
    const { id } = await holds.place([{ type: 'person', id: ann }]);
    expect(await holds.sweep('account-erasures')).to.deep.equal([ann]);
    expect(await holds.sweep('account-erasures')).to.deep.equal([]);
    expect(await rejection(settleErasure(world.ports, ann))).to.include({ code: 'legal_hold' });
    expect(postponed(id)).to.equal(1);
    expect(world.state.people.has(ann)).to.equal(true);
    expect(await world.ports.secrets.verifyPassword(ann, 'any')).not.to.equal(null);
    const second = await holds.place([{ type: 'person', id: ann }]);
    await holds.sweep('account-erasures');
    expect([postponed(id), postponed(second.id)]).to.deep.equal([1, 1]);
    await release(id);
    expect(await holds.sweep('account-erasures')).to.deep.equal([]);
    await release(second.id);
    expect(await holds.sweep('account-erasures')).to.deep.equal([ann]);
    expect(world.state.people.has(ann)).to.equal(false);
    expect(await world.ports.secrets.verifyPassword(ann, 'any')).to.equal(null);
  });

  for (const step of ['withdraw', 'erasePassword', 'forget', 'erase'] as const)
    it(`stops where a hold meets it: after ${step}`, async () => {
      const { world } = holds;
      const ann = await world.member('member', 'ann@example.net');
      const placed: string[] = [];
      const done: string[] = [];
      const noted =
        (name: string, work: (...given: never[]) => Promise<unknown>) =>
        async (...given: never[]): Promise<never> => {
          done.push(name);
          const answer = await work(...given);
          if (name === step) placed.push((await holds.place([{ type: 'person', id: ann }])).id);
          return answer as never;
        };
      const { links, secrets, devices, personal } = world.ports;
      const ports = {
        ...world.ports,
        links: { ...links, withdraw: noted('withdraw', (id: never) => links.withdraw(id)) } as never,
        secrets: {
          erasePassword: noted('erasePassword', (id: never) => secrets.erasePassword(id)),
        } as never,
        devices: { ...devices, forget: noted('forget', (id: never) => devices.forget(id)) } as never,
        personal: { ...personal, erase: noted('erase', (id: never) => personal.erase(id)) },
      };
      const begin = await decideAndAppend(world.ports, systemAuthor(world.ports, null), account, {
        id: ann,
        decide: (state) => startErasure(state, []),
      });
      await world.ports.directory.waitFor(begin.position ?? 0n);
      const error = await settleErasure(ports, ann).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      const steps = ['withdraw', 'erasePassword', 'forget', 'erase'];
      expect(done).to.deep.equal(steps.slice(0, steps.indexOf(step) + 1));
      expect(placed).to.have.length(1);
      // After the key nothing is left to keep: the account's end only says so.
      if (step === 'erase') expect(error).to.equal(null);
      else expect(error).to.include({ code: 'legal_hold' });
    });

  /** A process that dies when the key is gone and nothing says so. */
  const dyingAfterKey = ({ personal, ...ports }: Ports): Ports => ({
    ...ports,
    personal: {
      ...personal,
      erase: async (id) => {
        await personal.erase(id);
        throw new ProcessGone();
      },
    },
  });

  it(`ends for an account, without waiting, where the key was gone before the hold ${verifies('contract:12:erasure-told')}`, async () => {
    const { world } = holds;
    const ann = await world.member('member', 'ann@example.net');
    const author = systemAuthor(world.ports, null);
    const error = await rejection(eraseAccount(dyingAfterKey(world.ports), author, ann));
    expect(error).to.be.instanceOf(ProcessGone);
    await world.catchUp();
    expect(holds.typesOf(`personalData-${ann}`)).to.deep.equal([]);
    const { id } = await holds.place([{ type: 'person', id: ann }]);
    await holds.sweep('account-erasures');
    expect(postponed(id)).to.equal(0);
    expect(holds.typesOf(`personalData-${ann}`)).to.include('PersonalDataErased');
    expect(holds.typesOf(`account-${ann}`).at(-1)).to.equal('AccountErased');
  });

  it(`ends for a mailbox, without waiting, where the key was gone before the hold ${verifies('contract:12:mailbox-erasure')}`, async () => {
    const { world } = holds;
    const { gateway } = world;
    const mailboxId = await world.mailbox();
    await gateway.call(deleteMailbox, { mailbox_id: mailboxId }, { token: await gateway.signIn() });
    gateway.clock.advance(WEEK_MS);
    const [due] = listDueErasures(world.ports, gateway.clock.now());
    if (due === undefined) throw new Error('it is not due');
    const error = await rejection(eraseMailboxContent(dyingAfterKey(world.ports), due, []));
    expect(error).to.be.instanceOf(ProcessGone);
    const { id } = await holds.place([{ type: 'mailbox', id: mailboxId }]);
    await holds.sweep('mailbox-erasure');
    expect(postponed(id)).to.equal(0);
    expect(holds.typesOf(`personalData-${mailboxId}`)).to.deep.equal(['PersonalDataErased']);
    expect(holds.typesOf(`mailbox-${mailboxId}`).at(-1)).to.equal('MailboxErased');
  });

  it(`keeps its organisation from being deleted, and a deleted one from being erased ${verifies('contract:12:hold-organisation')}`, async () => {
    const { world } = holds;
    const { ports, orgId, gateway } = world;
    const { id } = await holds.place([{ type: 'person', id: gateway.org.userId }]);
    const remove = { name: 'Example' };
    const token = await gateway.signIn();
    const refused = await rejection(gateway.call(deleteOrganisation, remove, { token }));
    expect(refused).to.deep.include({ code: 'legal_hold', details: { holds: [id] } });
    expect(holds.refusals.map(({ data }) => [data['capability'], data['code']])).to.deep.equal([
      ['delete_organisation', 'legal_hold'],
    ]);
    // Deleted at the moment at which the hold was placed.
    const by = { userId: gateway.org.userId };
    const eraseAt = new Date(gateway.clock.now().getTime() + WEEK_MS);
    await decideAndAppend(ports, systemAuthor(ports, orgId), organisation, {
      id: orgId,
      decide: (state) => decideDeletion(state, eraseAt, by),
    });
    await world.catchUp();
    gateway.clock.advance(WEEK_MS);
    const due = () =>
      leftBehind(world.state, gateway.clock.now()).filter(({ kind }) => kind === 'organisation');
    expect(due()).to.deep.equal([]);
    const erase = { kind: 'organisation', id: orgId, orgId } as const;
    expect(await rejection(settleDeparture(ports, erase))).to.include({ code: 'legal_hold' });
    const author = systemAuthor(ports, orgId);
    await releaseAsOperator(ports, author, { id, reason: 'Nobody is left to do it.' });
    expect(due()).to.deep.equal([erase]);
    await settleDeparture(ports, erase);
    expect(holds.typesOf(`organisation-${orgId}`).at(-1)).to.equal('OrganisationErased');
  });

  it(`waits with a removed mailbox, also for a draft in it ${verifies('contract:12:hold-erasures')}`, async () => {
    const { world } = holds;
    const { gateway } = world;
    const mailboxId = await world.mailbox();
    const { id } = await holds.place([{ type: 'mailbox', id: mailboxId }]);
    const token = await gateway.signIn();
    expect(await gateway.call(deleteMailbox, { mailbox_id: mailboxId }, { token })).to.include({
      state: 'removed',
    });
    gateway.clock.advance(WEEK_MS);
    expect(await holds.sweep('mailbox-erasure')).to.deep.equal([mailboxId]);
    expect(await holds.sweep('mailbox-erasure')).to.deep.equal([]);
    expect(postponed(id)).to.equal(1);
    expect(gateway.secrets.mail.has(mailboxId)).to.equal(true);
    await release(id);
    gateway.sql.rows.set('read.draft', [{ id: gateway.org.userId }]);
    const byAuthor = await holds.place([{ type: 'person', id: gateway.org.userId }]);
    expect(await holds.sweep('mailbox-erasure')).to.deep.equal([mailboxId]);
    expect(postponed(byAuthor.id)).to.equal(1);
    expect(gateway.secrets.mail.has(mailboxId)).to.equal(true);
    await release(byAuthor.id);
    expect(await holds.sweep('mailbox-erasure')).to.deep.equal([mailboxId]);
    expect(gateway.secrets.mail.has(mailboxId)).to.equal(false);
    expect(await holds.sweep('mailbox-erasure')).to.deep.equal([]);
  });
});
