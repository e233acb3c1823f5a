import { expect } from 'chai';
import { account, startErasure } from '../../../../commands/accounts/account.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import type { AskingClient } from '../../../../commands/ports/authorization-server.ts';
import { contentOf } from '../../../../infra/system-mail/mail-content.ts';
import { renderMail } from '../../../../infra/system-mail/render-mail.ts';
import { ApplicationWorld, DOCUMENT } from '../../../support/worlds/application-world.ts';
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
    await decideAndAppend(world.ports, author, account, {
      id: ann,
      decide: (state) => startErasure(state, []),
    });
    await world.catchUp();
    expect(await content()).to.equal('no_account');
    expect(await world.links.find('reset', 'link-2')).to.equal(null);
  });

  it('says which application was connected, and where the answer goes', async () => {
    const world = await ApplicationWorld.open();
    const { ports, orgId } = world.people;
    /** The lines about the application. */
    const told = async (client: AskingClient): Promise<readonly string[]> => {
      const { id, principalId } = await world.connect(world.owner, { client });
      const request = { kind: 'application_connected', user_id: principalId, to: null, oauth_grant_id: id } as const; // prettier-ignore
      const content = await contentOf(ports, { orgId, requestedAt: '2026-03-01T12:00:00Z', request });
      if (typeof content === 'string') throw new Error(content);
      const { title, lines } = content.mail.items[0] ?? { title: '', lines: [] };
      expect(renderMail(content.mail, 'gateway.example').text).to.include(lines.join('\n'));
      return [title, ...lines.slice(0, -2)];
    };
    expect(await told({ ...DOCUMENT, redirectUri: 'https://other.example/back' })).to.deep.equal([
      'Mail helper',
      'Its own address app.example.com',
      'The answer goes to other.example',
    ]);
    expect(await told({ ...DOCUMENT, redirectUri: 'com.example.app:/back' })).to.deep.equal([
      'Mail helper',
      'Its own address app.example.com',
      'The answer goes to an app on a device',
    ]);
    const local = { id: 'oac_1', kind: 'dynamic', name: null, redirectUri: 'http://127.0.0.1:4711/cb' } as const; // prettier-ignore
    expect(await told(local)).to.deep.equal([
      'An application without a name',
      'The answer goes to a program on the computer where it was allowed',
    ]);
  });
});
