import { expect } from 'chai';
import type { Caller } from '../../../../commands/kernel/access.ts';
import type { Scope } from '../../../../commands/values/scopes.ts';
import { putFolderRoles } from '../../../../commands/mailboxes/set-folder-roles.ts';
import { getFolderRoles } from '../../../../read-api/mailboxes/mailboxes.ts';
import { operationRig } from '../../../support/worlds/operation-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** A caller with the scopes of a manager of mailboxes. */
const granting = (caller: Caller): Caller => ({
  ...caller,
  orgScopes: new Set<Scope>([...caller.orgScopes, 'mailboxes:grants']),
});

describe('mapping of folder roles', () => {
  it(`requires mailboxes:grants too ${verifies('contract:3:folder-roles-rights')}`, async () => {
    const rig = operationRig();
    const input = { mailbox_id: 'mbx_0', roles: { archive: null } };
    expect(await rejection(rig.invokeAs(rig.caller, putFolderRoles, input))).to.deep.include({
      code: 'insufficient_scope',
      details: { required: ['mailboxes:grants'] },
    });
    const narrow = operationRig({ scopes: ['folders:read', 'messages:read'] });
    expect(await rejection(narrow.invokeAs(granting(narrow.caller), putFolderRoles, input))).to.include({
      code: 'insufficient_scope',
    });
  });

  it(`refuses a caller whose grant is bound to folder roles ${verifies('contract:3:folder-roles-rights')}`, async () => {
    const rig = operationRig({ folderRoles: ['archive'] });
    const inbox = rig.ports.locators.folder(0, 1);
    for (const roles of [{ archive: inbox, inbox: null }, { archive: { create: 'Junk' } }, { sent: null }]) {
      const mapped = rig.invokeAs(granting(rig.caller), putFolderRoles, { mailbox_id: 'mbx_0', roles });
      expect(await rejection(mapped)).to.deep.include({
        code: 'insufficient_scope',
        details: { required: [], folder_roles: ['archive'] },
      });
    }
    expect(rig.events.all).to.deep.equal([]);
  });

  it(`shows mapped folders only within the grant ${verifies('contract:3:folder-unknown')}`, async () => {
    const rig = operationRig({ folderRoles: ['archive', 'sent'] });
    const { output } = await rig.invoke(getFolderRoles, {}, null);
    expect(output).to.include({ archive: rig.ports.locators.folder(0, 2), inbox: null, trash: null });
    const whole = operationRig();
    expect((await whole.invoke(getFolderRoles, {}, null)).output).to.include({
      inbox: whole.ports.locators.folder(0, 1),
    });
  });
});
