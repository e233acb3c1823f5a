import { expect } from 'chai';
import type { DirectoryState, MailboxEntry } from '../../../../commands/ports/directory.ts';
import { SCOPES } from '../../../../commands/values/scopes.ts';
import { changedRights } from '../../../../infra/directory/changed-rights.ts';
import type { Entity } from '../../../../projections/directory-entities.ts';
import { stateOf } from '../../../support/worlds/access-world.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { memberEntry } from '../../../support/worlds/people.ts';

/** The entry of a map under this id. Throws when there is none. */
function held<Entry>(map: ReadonlyMap<string, Entry>, id: string): Entry {
  const entry = map.get(id);
  if (entry === undefined) throw new Error(`there is no ${id}`);
  return entry;
}

const GRANT = { scopes: [], folderRoles: null, expiresAt: null };

describe('changedRights', () => {
  const state: DirectoryState = stateOf({
    kind: 'user',
    role: 'member',
    tokenScopes: SCOPES,
    tokenMailboxIds: null,
    mailboxes: [{ isRemoved: false, isForeign: false, grant: GRANT, ownersGrant: null }],
  });
  const mailbox = held(state.mailboxes, 'mbx_0');
  const token = held(state.tokens, 'tok_1');
  const put = (...entities: readonly Entity[]) => changedRights(state, { put: entities, remove: [] });
  const people = (...principals: readonly string[]) => ({ principals, mailboxes: [] });

  it(`names the holder of a changed or removed grant, role or token ${verifies('contract:10:ground-gone')}`, () => {
    const grant = held(state.grants, 'grt_0');
    expect(put({ kind: 'grant', value: grant })).to.deep.equal(people('usr_1'));
    expect(put({ kind: 'member', value: memberEntry('org_1', 'usr_2', 'member') })).to.deep.equal(
      people('usr_2'),
    );
    expect(put({ kind: 'token', value: { ...token, revokedAt: 'now' } })).to.deep.equal(people('usr_1'));
    const remove = [
      { kind: 'grant', id: 'grt_0' },
      { kind: 'member', id: 'org_1/usr_3' },
      { kind: 'agent', id: 'agt_1' },
    ] as const;
    expect(changedRights(state, { put: [], remove })).to.deep.equal(people('usr_1', 'usr_3', 'agt_1'));
  });

  it('names a mailbox that was removed or has other folders, and null when nothing narrows', () => {
    const changed = (change: Partial<MailboxEntry>) =>
      put({ kind: 'mailbox', value: { ...mailbox, ...change } });
    expect(changed({ state: 'removed' })).to.deep.equal({ principals: [], mailboxes: ['mbx_0'] });
    expect(changed({ detectedRoles: { inbox: 1 } })).to.deep.equal({ principals: [], mailboxes: ['mbx_0'] });
    expect(changed({ state: 'degraded', version: 9 })).to.equal(null);
    expect(put({ kind: 'token', value: token })).to.equal(null);
  });
});
