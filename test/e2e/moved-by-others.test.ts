import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage, withClient } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const mail = (subject: string): string => plainMessage({ subject, id: `<${subject}@example.org>` });

describe('messages that another client moves', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailbox: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(dovecot.imap(), 'anna', [
      ...['carried', 'marked', 'doubled', 'twins'].map((subject) => ({ raw: mail(subject) })),
      { raw: `Received: by mx.example.com\r\n${mail('doubled')}`, folder: 'Sent' },
    ]);
    const started = await startWithMailbox(dovecot);
    gateway = started.gateway;
    mailbox = `/mailboxes/${started.mailboxId}`;
  });
  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const idOf = async (subject: string): Promise<string> => {
    const select = { folder: 'inbox', filter: { subject_contains: subject } };
    const { body } = await gateway.rest('POST', `${mailbox}/email.query`, { select, view: 'ids' });
    return body.items[0].id as string;
  };

  it(`are found by their old ids, and never guessed ${verifies('contract:4:stale-current-id', 'contract:4:deleted-not-found')}`, async () => {
    const subjects = ['carried', 'marked', 'doubled', 'twins'];
    const ids = new Map<string, string>();
    for (const subject of subjects) ids.set(subject, await idOf(subject));
    await withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen('INBOX');
      const bySubject = async (subject: string): Promise<string> =>
        String(await client.search({ header: { subject } }, { uid: true }));
      await client.messageMove(await bySubject('carried'), 'Archive', { uid: true });
      // As clients do it that know no MOVE.
      await client.messageCopy(await bySubject('marked'), 'Archive', { uid: true });
      await client.messageFlagsAdd(await bySubject('marked'), ['\\Deleted'], { uid: true });
      await client.messageDelete(await bySubject('doubled'), { uid: true });
      for (const folder of ['Archive', 'Junk'])
        await client.messageCopy(await bySubject('twins'), folder, { uid: true });
      await client.messageDelete(await bySubject('twins'), { uid: true });
    });
    const answerFor = async (subject: string): Promise<readonly unknown[]> => {
      const { status, body } = await gateway.rest('GET', `${mailbox}/messages/${ids.get(subject) ?? ''}`);
      const currentId = body.error?.details?.current_id as string | undefined;
      if (currentId === undefined) return [status, body.error?.code];
      const now = await gateway.rest('GET', `${mailbox}/messages/${currentId}`);
      return [status, body.error.code, now.body.subject, now.body.folder.role];
    };
    // Looks of the last second at the other folders count.
    await eventually(async () => {
      expect(await answerFor('carried')).to.deep.equal([409, 'message_stale', 'carried', 'archive']);
    });
    expect(await answerFor('marked')).to.deep.equal([409, 'message_stale', 'marked', 'archive']);
    expect(await answerFor('doubled'), 'the copy in Sent came another way').to.deep.equal([404, 'not_found']);
    expect(await answerFor('twins'), 'it may be either of two').to.deep.equal([404, 'not_found']);
  });
});
