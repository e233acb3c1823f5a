import { expect } from 'chai';
import type { ActionsManifest } from '../../../../../commands/operations/manifest.ts';
import {
  type ActionsContent,
  describeActions,
  type MessageNow,
  messageWarnings,
} from '../../../../../read-api/approvals/preview/actions.ts';
import { domainsOf } from '../../../../../commands/policy/address-look.ts';
import { type Rendered, renderDocument } from '../../../../../read-api/approvals/preview/document.ts';

type Step = ActionsManifest['steps'][number];

const item = (number: number, folder = 'INBOX'): ActionsManifest['items'][number] => ({
  message_id: `msg_${String(number)}`,
  rfc_message_id: `<${String(number)}@example.com>`,
  subject_hash: null,
  folder,
});
const there = (changes: object = {}): MessageNow => ({
  state: 'same',
  from: [{ name: 'Eve', email: 'eve@example.org' }],
  subject: 'Invoice',
  sentAt: new Date('2026-05-01T10:00:00Z'),
  ...changes,
});

const ANNA = 'anna@example.com';
const render = (steps: readonly Step[], messages: ActionsContent['messages'], items = [item(1)]): Rendered =>
  renderDocument(
    describeActions(
      {
        kind: 'message_actions',
        nonce: '00',
        operation_id: 'opn_1',
        mailbox_id: 'mbx_1',
        steps: [...steps],
        items,
      },
      {
        mailboxAddress: ANNA,
        domains: domainsOf({ internal_domains: ['example.com'] }, ANNA),
        messages,
        warnings: messageWarnings(messages),
      },
    ),
    { approvalId: 'chk_1', contentHash: 'c' },
  );

describe('describeActions', () => {
  const SENTENCES: readonly (readonly [Step, string])[] = [
    [{ action: 'move', folder: 2, folder_path: 'Work' }, '3 messages will be moved from “INBOX” and “Lists” to “Work”.'],
    [{ action: 'copy', folder: 2, folder_path: 'Work' }, '3 messages in “INBOX” and “Lists” will be copied to “Work”.'],
    [{ action: 'trash', folder: 2, folder_path: 'Bin' }, '3 messages will be moved from “INBOX” and “Lists” to the trash, “Bin”.'],
    [{ action: 'spam', folder: 2, folder_path: 'Junk' }, '3 messages will be moved from “INBOX” and “Lists” to spam, “Junk”.'],
    [{ action: 'not_spam', folder: 1, folder_path: 'INBOX' }, '3 messages will be moved from “INBOX” and “Lists” back to the inbox, “INBOX”.'],
    [{ action: 'archive', folder: 2, folder_path: 'Old' }, '3 messages will be moved from “INBOX” and “Lists” to the archive, “Old”.'],
    [{ action: 'expunge' }, '3 messages will be deleted permanently from “INBOX” and “Lists”.'],
    [
      { action: 'set_flags', flags_add: ['\\Seen', 'todo'], flags_remove: ['\\Flagged'] },
      '3 messages in “INBOX” and “Lists” will be marked as read, given the keyword “todo”, no longer flagged.',
    ],
  ]; // prettier-ignore
  for (const [step, sentence] of SENTENCES) {
    it(`describes in a sentence what ${step.action} will do`, () => {
      const { html, text } = render([step], null, [item(1), item(2, 'Lists'), item(3)]);
      expect(text.split('\n')[0]).to.equal(sentence);
      expect(html).to.include(`<h1><bdi>${sentence}</bdi></h1>`);
    });
  }

  it('numbers the actions in their order', () => {
    const steps: Step[] = [
      { action: 'set_flags', flags_add: ['\\Seen'] },
      { action: 'archive', folder: 2, folder_path: 'Old' },
    ];
    const lines = render(steps, [there()]).text.split('\n\n');
    expect(lines[0]).to.equal('1. 1 message in “INBOX” will be marked as read.');
    expect(lines[1]).to.equal('2. 1 message will be moved from “INBOX” to the archive, “Old”.');
  });

  it('shows each message in its current state', () => {
    const { html, text } = render([{ action: 'expunge' }], [there({ subject: 'In\u202evoice' })]);
    for (const shown of ['In⟦U+202E⟧voice', '2026-05-01 10:00 UTC', 'eve@example.org', 'called “Eve”']) {
      expect(text).to.include(shown);
      expect(html.replaceAll(/<[^>]*>/g, '')).to.include(shown);
    }
  });

  it('says which messages are missing, replaced or could not be read', () => {
    const items = [item(1), item(2), item(3)];
    const mixed = render(
      [{ action: 'expunge' }],
      [there(), { state: 'gone' }, there({ state: 'replaced', subject: 'Payroll' })],
      items,
    );
    expect(mixed.text).to.include('WARNING: 1 message is no longer where');
    expect(mixed.text).to.include('WARNING: At the place of 1 message is another message now');
    expect(mixed.text).to.match(/Message 2: .*<2@example\.com> \[WARNING: no longer there\]/);
    expect(mixed.text).to.match(/Payroll .*\[WARNING: not the requested message\]/);
    const blind = render([{ action: 'expunge' }], null, items);
    expect(blind.text).to.include('WARNING: The mail server could not be reached');
    expect(blind.text).to.include('Message 3: in “INBOX”, Message-ID <3@example.com>');
  });

  it('lists as many messages as an operation may have, within bounds', () => {
    const items = Array.from({ length: 500 }, (_, index) => item(index));
    const worst = there({
      subject: 'a\u202e'.repeat(500),
      from: [{ name: 'a\u202e'.repeat(500), email: 'a@b' }],
    });
    const { html, text } = render(
      [{ action: 'expunge' }],
      items.map(() => worst),
      items,
    );
    expect(text).to.include('Message 500:');
    expect(html.length + text.length).to.be.at.most(8_000_000);
  });
});
