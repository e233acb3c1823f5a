import { expect } from 'chai';
import { eraseMailboxContent, listDueErasures } from '../../../../commands/mailboxes/erase-mailbox.ts';
import { deleteMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { dyingAt } from '../../../support/fakes/dying-ports.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { InviteWorld } from '../../../support/worlds/invite-world.ts';

const WEEK_MS = 7 * 86_400_000;

const gone = (): Promise<never> => Promise.reject(new ProcessGone());

/** A process that dies in each step in turn: before it, and after it. */
const DEATHS: Readonly<Record<string, (ports: Ports) => Ports>> = {
  'before the mirror': (ports) => ({ ...ports, mirrorVersions: { ...ports.mirrorVersions, erase: gone } }),
  'before the content': (ports) => ({
    ...ports,
    content: new Proxy(ports.content, {
      get: (content, name): unknown => (name === 'eraseMailbox' ? gone : Reflect.get(content, name, content)),
    }),
  }),
  'before the key': (ports) => ({ ...ports, personal: { ...ports.personal, erase: gone } }),
  'after the key': (ports) => ({
    ...ports,
    personal: {
      ...ports.personal,
      erase: async (id) => {
        await ports.personal.erase(id);
        await gone();
      },
    },
  }),
  'before the line about the key': (ports) => dyingAt(ports, 0, false),
  'after the line about the key': (ports) => dyingAt(ports, 0, true),
  'before the end': (ports) => dyingAt(ports, 1, false),
  'after the end': (ports) => dyingAt(ports, 1, true),
};

describe('the erasure of a mailbox', () => {
  for (const [at, dying] of Object.entries(DEATHS))
    it(`is finished, with one line about the key, when its process died ${at} ${verifies('contract:12:mailbox-erasure')}`, async () => {
      const world = await InviteWorld.open();
      const { gateway, ports } = world;
      const id = await world.mailbox();
      await gateway.call(deleteMailbox, { mailbox_id: id }, { token: await gateway.signIn() });
      gateway.clock.advance(WEEK_MS);
      const erase = async (by: Ports): Promise<void> => {
        for (const due of listDueErasures(ports, gateway.clock.now())) await eraseMailboxContent(by, due, []);
      };
      const [ended] = await Promise.allSettled([erase(dying(ports))]);
      expect(ended.status).to.equal('rejected');
      await world.catchUp();
      await erase(ports);
      await erase(ports);
      const types = gateway.events.all
        .filter(({ streamName }) => streamName === `personalData-${id}` || streamName === `mailbox-${id}`)
        .map(({ type }) => type);
      expect(types.slice(-2)).to.deep.equal(['PersonalDataErased', 'MailboxErased']);
      expect(types.filter((type) => type === 'PersonalDataErased')).to.have.length(1);
      expect(await ports.personal.open(`sealed:${id}:box` as Sealed)).to.equal(null);
      expect(gateway.secrets.mail.has(id)).to.equal(false);
    });
});
