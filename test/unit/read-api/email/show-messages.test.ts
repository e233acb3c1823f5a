import { expect } from 'chai';
import { lastingItemsOf } from '../../../../commands/kernel/lasting-items.ts';
import type { FetchedMessage } from '../../../../commands/kernel/mail-port.ts';
import type { Viewing } from '../../../../read-api/email/message-view.ts';
import { showMessages } from '../../../../read-api/email/show-messages.ts';

const NO_TEXTS = new Map<FetchedMessage, never>();
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
} as unknown as Viewing['mailbox'];

describe('the messages of an answer', () => {
  it('are shown as they were when the very same list comes again', () => {
    const list = messages();
    const first = showMessages(viewing(), list, NO_TEXTS);
    expect(lastingItemsOf({ items: first }), 'shown once').to.equal(null);
    expect(showMessages(viewing(), list, NO_TEXTS)).to.equal(first);
    expect(lastingItemsOf({ items: first })).to.equal(first);
    expect(showMessages(viewing(), messages(), NO_TEXTS), 'an equal list').not.to.equal(first);
  });

  it('are shown anew for another view, another grant or a mailbox that changed', () => {
    const list = messages();
    const first = showMessages(viewing(), list, NO_TEXTS);
    const access = { ...viewing().access, folderRoles: ['inbox'] as const };
    for (const other of [{ view: 'ids' as const }, { access }]) {
      expect(showMessages(viewing(other), list, NO_TEXTS)).not.to.equal(first);
    }
    const mailbox = { ...MAILBOX, detectedRoles: { archive: 1 }, folderRoles: { inbox: null } };
    const [shown] = showMessages(viewing({ mailbox }), list, NO_TEXTS);
    expect(shown?.folder?.role).to.equal('archive');
  });

  it('are made anew where texts are shown, which are read each time', () => {
    const list = messages();
    const body = { format: 'text', chars: 10, offset: 0 } as unknown as Viewing['body'];
    const shown = () => showMessages(viewing({ body }), list, NO_TEXTS);
    expect(shown()).not.to.equal(shown());
  });
});
