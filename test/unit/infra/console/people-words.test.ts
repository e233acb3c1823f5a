import { join } from 'node:path';
import { expect } from 'chai';
import { Action } from '../../../../commands/messages/actions.ts';
import { ROLE_SCOPES, type Role, ROLES } from '../../../../commands/values/scopes.ts';

type Labelled = readonly (readonly [value: string, label: string])[];
interface Wording {
  readonly ROLES: Labelled;
  rolesGivenBy(own: string): Labelled;
}
interface Notifications {
  readonly ASKS: Readonly<Record<string, string>>;
}

const moduleOf = (name: string): string => join(import.meta.dirname, '../../../../infra/console', name);
const valuesOf = (list: Labelled): string[] => list.map(([value]) => value);

describe('wording of people in the console', () => {
  let wording: Wording;
  before(async () => {
    wording = (await import(moduleOf('people-wording.js'))) as Wording;
  });

  it('names every role', () => {
    expect(valuesOf(wording.ROLES)).to.deep.equal([...ROLES]);
  });

  it('offers no role above the own one to those who manage members', () => {
    const managers = ROLES.filter((role) => ROLE_SCOPES[role].includes('members:manage'));
    for (const own of managers) {
      const within = ROLES.filter((role) => isWithin(role, own));
      expect(valuesOf(wording.rolesGivenBy(own)), own).to.deep.equal(within);
    }
  });

  it('says in a notification what is asked for, whatever the action', async () => {
    const { ASKS } = (await import(moduleOf('approval-asks.js'))) as Notifications;
    const actions = Action.options.map((option) => option.shape.type.value);
    expect(Object.keys(ASKS)).to.have.members([...actions, 'message_actions', 'send_draft']);
  });
});

const isWithin = (role: Role, own: Role): boolean =>
  ROLE_SCOPES[role].every((scope) => ROLE_SCOPES[own].includes(scope));
