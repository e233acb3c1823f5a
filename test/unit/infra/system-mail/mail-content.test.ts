import { expect } from 'chai';
import { account, startErasure } from '../../../../commands/accounts/account.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { contentOf } from '../../../../infra/system-mail/mail-content.ts';
import { InviteWorld } from '../../../support/worlds/invite-world.ts';

describe('the content of a mail', () => {
  it('has no link for an account that is being erased', async () => {
    const world = await InviteWorld.open();
    const ann = await world.member('member', 'ann@example.net');
    const request = { kind: 'password_reset', user_id: ann, to: null } as const;
    const content = () =>
      contentOf(world.ports, { orgId: null, requestedAt: '2026-03-01T12:00:00Z', request });
    expect(await content()).to.include({ to: 'ann@example.net' });
    const author = systemAuthor(world.ports, null);
    await decideAndAppend(world.ports, author, account, { id: ann, decide: startErasure });
    await world.catchUp();
    expect(await content()).to.equal('no_account');
    expect(await world.links.find('reset', 'link-2')).to.equal(null);
  });
});
