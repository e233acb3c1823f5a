import { expect } from 'chai';
import type { Context } from '../../../../commands/kernel/capability.ts';
import { lastingItemsOf } from '../../../../commands/kernel/lasting-items.ts';
import type { FetchedMessage } from '../../../../commands/mail/message.ts';
import type { Viewing } from '../../../../read-api/messages/message-view.ts';
import { showMessages } from '../../../../read-api/messages/show-messages.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** Whether the index knows, and says of every message that its sender wrote for the first time. */
let isComplete = true;
const context = {
  ports: {
    mirrorVersions: {
      firstContacts: (_: unknown, of: readonly FetchedMessage[]) =>
        Promise.resolve(isComplete ? new Map(of.map((message) => [message, true])) : null),
    },
  },
} as unknown as Pick<Context, 'ports'>;
const messages = (): readonly FetchedMessage[] => [
  {
    ref: { folder: { number: 1, path: 'INBOX' }, uidValidity: 1, uid: 1 },
    seen: false, flagged: false, answered: false, draft: false, keywords: [], size: 1,
    receivedAt: new Date(0), sentAt: null, messageId: null, inReplyTo: null, references: [], subject: 'One',
    from: [], to: [], cc: [], bcc: [], replyTo: [], autoSubmitted: null, hasAttachments: false, attachments: [],
    threadRoot: null,
  },
]; // prettier-ignore

const viewing = (fields: Partial<Viewing> = {}): Viewing => ({
  mailbox: MAILBOX,
  access: { scopes: new Set(), folderRoles: null, quotas: null },
  locators: { message: () => 'msg_1', folder: () => 'fld_1' } as unknown as Viewing['locators'],
  view: 'summary',
  body: null,
  ...fields,
});
const MAILBOX = {
  id: 'mbx_1',
  number: 1,
  folders: [{ number: 1, path: 'INBOX' }],
  folderRoles: {},
  detectedRoles: {},
  trustedAuthservIds: [],
} as unknown as Viewing['mailbox'];

describe('the messages of an answer', () => {
  it('are shown as they were when the very same list comes again', async () => {
    const list = messages();
    const first = await showMessages(context, viewing(), list);
    expect(lastingItemsOf({ items: first }), 'shown once').to.equal(null);
    expect(await showMessages(context, viewing(), list)).to.equal(first);
    expect(lastingItemsOf({ items: first })).to.equal(first);
    expect(await showMessages(context, viewing(), messages()), 'an equal list').not.to.equal(first);
  });

  it('are shown anew for another view, another grant or a mailbox that changed', async () => {
    const list = messages();
    const first = await showMessages(context, viewing(), list);
    const access = { ...viewing().access, folderRoles: ['inbox'] as const };
    for (const other of [{ view: 'ids' as const }, { access }]) {
      expect(await showMessages(context, viewing(other), list)).not.to.equal(first);
    }
    const mailbox = { ...MAILBOX, detectedRoles: { archive: 1 }, folderRoles: { inbox: null } };
    const [shown] = await showMessages(context, viewing({ mailbox }), list);
    expect(shown?.folder?.role).to.equal('archive');
  });

  it(`say that their texts are of others, and who wrote for the first time, in every view with text ${verifies('contract:4:origin')}`, async () => {
    for (const view of ['summary', 'headers', 'full'] as const) {
      const [shown] = await showMessages(context, viewing({ view }), messages());
      expect(shown)
        .to.deep.include({ origin: 'external' })
        .and.have.nested.property('security.first_contact', true);
    }
    expect(await showMessages(context, viewing({ view: 'ids' }), messages())).to.deep.equal([
      { id: 'msg_1' },
    ]);
  });

  it('are made anew until the index knows who wrote for the first time', async () => {
    const list = messages();
    isComplete = false;
    const first = await showMessages(context, viewing(), list);
    expect(first[0]).not.to.have.property('security');
    isComplete = true;
    expect((await showMessages(context, viewing(), list))[0]?.security).to.deep.equal({
      first_contact: true,
    });
  });

  it('are made anew where texts are shown, which are read each time', async () => {
    const list = messages();
    const body = { format: 'text', chars: 10, offset: 0 } as unknown as Viewing['body'];
    const shown = () => showMessages(context, viewing({ body }), list);
    expect(await shown()).not.to.equal(await shown());
  });
});
