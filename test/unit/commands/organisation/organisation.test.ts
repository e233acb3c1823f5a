import { expect } from 'chai';
import {
  addMember,
  changeRole,
  createOrganisation,
  deleteOrganisation,
  eraseOrganisation,
  organisation,
  removeMember,
  renameOrganisation,
  restoreOrganisation,
} from '../../../../commands/organisation/organisation.ts';
import type { OrganisationEvent } from '../../../../commands/organisation/organisation-events.ts';
import type { Fact } from '../../../../commands/values/event.ts';
import { type Role, ROLE_SCOPES, ROLES } from '../../../../commands/values/scopes.ts';
import { given, NOW, stateAfter } from '../../../support/suite/decider-spec.ts';
import { verifies } from '../../../support/suite/verifies.ts';

type Past = Fact<OrganisationEvent>;

const created: Past = { type: 'OrganisationCreated', data: { name: 'Example' } };
const added = (user_id: string, role: Role): Past => ({ type: 'MemberAdded', data: { user_id, role } });
const changed = (user_id: string, role: Role): Past => ({
  type: 'MemberRoleChanged',
  data: { user_id, role },
});
const removed = (user_id: string, reason: 'removed' | 'left' = 'removed'): Past => ({
  type: 'MemberRemoved',
  data: { user_id, reason },
});
const FOUNDED = [created, added('olga', 'owner')] as const;
const SOON = new Date(NOW.getTime() + 1_000);
const deleted: Past = { type: 'OrganisationDeleted', data: { erase_at: SOON.toISOString() } };
const restored: Past = { type: 'OrganisationRestored', data: {} };
const erased: Past = { type: 'OrganisationErased', data: {} };
const OLGA = { userId: 'olga' };
const by = (userId: string) => ({ userId });

describe('createOrganisation', () => {
  it('makes its creator the first owner, once', () => {
    const create = (...past: readonly Past[]) =>
      given(organisation, ...past).when((state) =>
        createOrganisation(state, { name: 'Example', ownerId: 'olga' }),
      );
    create().then(...FOUNDED);
    create(...FOUNDED).thenRefused('conflict');
  });
});

describe('addMember', () => {
  const add = (past: readonly Past[], userId: string, role: Role, actor = OLGA) =>
    given(organisation, ...FOUNDED, ...past).when((state) => addMember(state, { userId, role, by: actor }));

  it('adds a person once, and keeps the role of a member', () => {
    add([], 'max', 'member').then(added('max', 'member'));
    add([added('max', 'member')], 'max', 'member').then();
    add([added('max', 'member')], 'max', 'admin').thenRefused('conflict');
  });

  it('adds a person again after a removal', () => {
    add([added('max', 'admin'), removed('max')], 'max', 'member').then(added('max', 'member'));
  });

  it(`requires the present right of the person who gives the role ${verifies('contract:20:role-ceiling')}`, () => {
    const past = [added('adam', 'admin')];
    add(past, 'max', 'member', by('adam')).then(added('max', 'member'));
    add(past, 'max', 'owner', by('adam')).thenRefused('insufficient_scope');
    add([...past, changed('adam', 'member')], 'max', 'member', by('adam')).thenRefused('insufficient_scope');
    add([...past, removed('adam')], 'max', 'member', by('adam')).thenRefused('insufficient_scope');
  });

  it('is refused in a deleted organisation', () => {
    add([deleted], 'max', 'member').thenRefused('conflict');
    add([deleted, erased], 'max', 'member').thenRefused('not_found');
  });
});

describe('changeRole', () => {
  const change = (past: readonly Past[], userId: string, role: Role, actor = OLGA) =>
    given(organisation, ...FOUNDED, ...past).when((state) => changeRole(state, { userId, role, by: actor }));

  it('gives another role, and nothing for the same', () => {
    change([added('max', 'member')], 'max', 'approver').then(changed('max', 'approver'));
    change([added('max', 'member')], 'max', 'member').then();
    change([], 'max', 'member').thenRefused('not_found');
  });

  it(`leaves the last owner an owner ${verifies('contract:13:last-owner')}`, () => {
    change([], 'olga', 'admin').thenRefused('last_owner');
    change([added('otto', 'owner')], 'olga', 'admin').then(changed('olga', 'admin'));
    change([added('otto', 'owner'), changed('otto', 'admin')], 'olga', 'admin').thenRefused('last_owner');
    change([added('otto', 'owner'), removed('otto')], 'olga', 'admin').thenRefused('last_owner');
  });

  it(`lets people give and take only roles within their own, and owners only by owners ${verifies('contract:20:role-ceiling')}`, () => {
    const cases = ROLES.flatMap((actor) => ROLES.flatMap((from) => ROLES.map((to) => ({ actor, from, to }))));
    for (const { actor, from, to } of cases) {
      const isWithin = (role: Role): boolean =>
        ROLE_SCOPES[role].every((scope) => ROLE_SCOPES[actor].includes(scope)) &&
        (role !== 'owner' || actor === 'owner');
      const isAllowed =
        from === to || (ROLE_SCOPES[actor].includes('members:manage') && isWithin(from) && isWithin(to));
      const decided = change([added('who', actor), added('max', from)], 'max', to, by('who'));
      if (!isAllowed) decided.thenRefused('insufficient_scope');
      else decided.then(...(from === to ? [] : [changed('max', to)]));
    }
  });

  it('is refused to a person who was demoted meanwhile', () => {
    const past = [added('otto', 'owner'), added('max', 'member'), changed('otto', 'member')];
    change(past, 'max', 'admin', by('otto')).thenRefused('insufficient_scope');
  });
});

describe('removeMember', () => {
  const remove = (past: readonly Past[], userId: string, actor = OLGA) =>
    given(organisation, ...FOUNDED, ...past).when((state) =>
      removeMember(state, { userId, reason: userId === actor.userId ? 'left' : 'removed', by: actor }),
    );

  it('ends a membership once', () => {
    remove([added('max', 'member')], 'max').then(removed('max'));
    remove([added('max', 'member'), removed('max')], 'max').thenRefused('not_found');
  });

  it('lets every member leave, but not the last owner', () => {
    for (const role of ROLES) remove([added('max', role)], 'max', by('max')).then(removed('max', 'left'));
    remove([], 'olga').thenRefused('last_owner');
    remove([added('otto', 'owner')], 'olga').then(removed('olga', 'left'));
  });

  it('lets the last owner leave an organisation that is deleted', () => {
    remove([deleted], 'olga').then(removed('olga', 'left'));
    remove([deleted, restored], 'olga').thenRefused('last_owner');
  });

  it(`lets only owners remove owners ${verifies('contract:20:role-ceiling')}`, () => {
    const past = [added('otto', 'owner'), added('adam', 'admin'), added('max', 'member')];
    remove(past, 'otto', by('adam')).thenRefused('insufficient_scope');
    remove(past, 'max', by('adam')).then(removed('max'));
    remove(past, 'adam', by('max')).thenRefused('insufficient_scope');
  });

  it('needs no owner in an erased organisation', () => {
    remove([deleted, erased], 'olga').then(removed('olga', 'left'));
  });
});

describe('the life of an organisation', () => {
  const when = (past: readonly Past[], decide: (state: typeof organisation.initial) => readonly Past[]) =>
    given(organisation, ...FOUNDED, added('adam', 'admin'), ...past).when(decide);

  it('includes new names, given by an owner', () => {
    const rename = (name: string, actor = OLGA, past: readonly Past[] = []) =>
      when(past, (state) => renameOrganisation(state, name, actor));
    rename('Other').then({ type: 'OrganisationRenamed', data: { name: 'Other' } });
    rename('Example').then();
    rename('Other', by('adam')).thenRefused('insufficient_scope');
    rename('Other', OLGA, [deleted]).thenRefused('conflict');
  });

  it(`ends by an owner, and can be undone until it is erased ${verifies('contract:18:organisation-deletion')}`, () => {
    const remove = (actor: typeof OLGA, ...past: readonly Past[]) =>
      when(past, (state) => deleteOrganisation(state, SOON, actor));
    remove(OLGA).then(deleted);
    remove(OLGA, deleted).then();
    remove(OLGA, deleted, erased).thenRefused('not_found');
    remove(by('adam')).thenRefused('insufficient_scope');
    const restore = (at: Date, actor: typeof OLGA, ...past: readonly Past[]) =>
      when(past, (state) => restoreOrganisation(state, at, actor));
    restore(NOW, OLGA, deleted).then(restored);
    restore(NOW, OLGA).then();
    restore(NOW, by('adam'), deleted).thenRefused('insufficient_scope');
    restore(SOON, OLGA, deleted).thenRefused('conflict');
    restore(NOW, OLGA, deleted, erased).thenRefused('not_found');
  });

  it('is erased when its time is over, and not when it was restored', () => {
    const erase = (at: Date, ...past: readonly Past[]) => when(past, (state) => eraseOrganisation(state, at));
    erase(NOW, deleted).then();
    erase(SOON, deleted).then(erased);
    erase(SOON, deleted, restored).then();
    erase(SOON, deleted, erased).then();
    expect(stateAfter(organisation, [...FOUNDED, deleted, erased]).lifetime).to.equal('erased');
  });
});
