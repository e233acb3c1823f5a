import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage, withClient } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';
import { wholeLog } from '../support/samples/whole-log.ts';

describe('the copy of a draft in the Drafts folder', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let anna: string;
  let keys = 0;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    ({ gateway, mailboxId: anna } = await startWithMailbox(dovecot));
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const post = (path: string, body: object) => {
    keys += 1;
    return gateway.rest('POST', path, body, { key: `copy-${String(keys)}` });
  };

  /** Subjects and flags of what lies in Drafts, oldest first. */
  const inDrafts = (): Promise<{ subject: string; flags: string[]; source: string }[]> =>
    withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen('Drafts', { readOnly: true });
      const found = await client.fetchAll('1:*', { envelope: true, flags: true, source: true });
      return found.map(({ envelope, flags, source }) => ({
        subject: envelope?.subject ?? '',
        flags: [...(flags ?? [])],
        source: String(source).replaceAll('\r\n ', ' '),
      }));
    });

  it(`follows the draft, changes no other message and is removed with it ${verifies('contract:7:drafts-folder')}`, async () => {
    await appendMessages(dovecot.imap(), 'anna', [
      { folder: 'Drafts', raw: plainMessage({ subject: 'mine' }), flags: ['\\Draft'] },
    ]);
    const { body: draft } = await post(`/mailboxes/${anna}/start_draft`, {
      to: ['bob@example.org'],
      bcc: ['secret@example.org'],
      subject: 'first',
      text: 'Hello',
      attachments: [{ filename: 'a.txt', content_type: 'text/plain', content_base64: 'aGVsbG8=' }],
    });
    const made = await eventually(async () => {
      const copies = await inDrafts();
      expect(copies.map(({ subject }) => subject)).to.deep.equal(['mine', 'first']);
      return copies[1];
    });
    expect(made?.flags).to.include.members(['\\Draft', '\\Seen']);
    expect(made?.source)
      .to.include(`X-Mailbox-Gateway-Draft: ${draft.id}; kept by the gateway; edits here`)
      .and.include('aGVsbG8=')
      .and.not.include('secret@');
    await post(`/drafts/${draft.id}/patch_draft`, { subject: 'second' });
    await eventually(async () => {
      expect((await inDrafts()).map(({ subject }) => subject)).to.deep.equal(['mine', 'second']);
    });
    await post(`/drafts/${draft.id}/discard_draft`, {});
    await eventually(async () => {
      expect((await inDrafts()).map(({ subject }) => subject)).to.deep.equal(['mine']);
    });
    // Only the other client's message is told; somebody looked at the folder for all three.
    await eventually(async () => {
      const log = await wholeLog(gateway.gateway.ports.events);
      const told = log.flatMap(({ type, data }) =>
        type === 'MailboxChangesObserved' ? ((data as Json).changes as Json[]) : [],
      );
      expect(told.map(({ kind }) => kind as string)).to.deep.equal(['received']);
    });
  });
});
