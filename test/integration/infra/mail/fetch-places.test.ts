import { expect } from 'chai';
import type { MessageRef } from '../../../../commands/mail/message.ts';
import { fetchPlaces } from '../../../../infra/mail/fetch-places.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { MODERN } from '../../../support/servers/imap-habits.ts';
import { appendMessages, plainMessage, withClient } from '../../../support/servers/mail-append.ts';
import { PlainAccount } from '../../../support/servers/plain-account.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import {
  ARCHIVE,
  INBOX,
  mailGateway,
  type MailGatewayUnderTest,
} from '../../../support/worlds/mail-gateway.ts';

const USER = 'anna';
const UIDS = [1, 2, 3];
const RAWS = UIDS.map((n) =>
  plainMessage({ subject: `message ${String(n)}`, id: `<${String(n)}@example.org>` }),
);

describe('messages of a folder that is open', () => {
  let server: TestDovecot;
  let under: MailGatewayUnderTest;
  let steps = 0;
  let uidValidity = 0;

  beforeEach(async function () {
    server = await requireTestDovecot(this);
    await appendMessages(
      server.imap(),
      USER,
      RAWS.map((raw) => ({ raw })),
    );
    under = mailGateway(server.imap(), USER, {
      providerConnections: 1,
      onCommand: () => {
        steps += 1;
      },
    });
    uidValidity = await under.mail(async (session) => (await session.folderStatus(INBOX)).uidValidity);
    await read(1);
    steps = 0;
  });

  afterEach(async () => {
    under.gateway.close();
    await server.dispose();
  });

  const refOf = (uid: number): MessageRef => ({ folder: INBOX, uidValidity, uid });
  const read = async (uid: number, chars: number | null = 100) => {
    const [found] = await under.mail((session) => session.fetch([refOf(uid)], 'structure', chars));
    return found ?? null;
  };
  const asOther = (work: Parameters<typeof withClient>[2]) =>
    withClient(server.imap(), USER, async (client) => {
      await client.mailboxOpen('INBOX');
      await work(client);
    });

  it('takes a command for the structure and one for the text', async () => {
    const found = await read(2);
    expect(found?.subject).to.equal('message 2');
    expect(found?.text?.content).to.contain('Hello');
    expect(steps).to.equal(2);
  });

  it('shows flags that another client has just changed', async () => {
    await asOther((client) => client.messageFlagsAdd('1:2', ['\\Seen', '\\Flagged'], { uid: true }));
    const found = await read(2, null);
    expect([found?.seen, found?.flagged]).to.deep.equal([true, true]);
    expect(steps).to.equal(1);
  });

  it('does not show a message that another client has just removed', async () => {
    await asOther((client) => client.messageDelete('2', { uid: true }));
    expect(await read(2)).to.equal(null);
    expect((await read(3))?.subject).to.equal('message 3');
  });

  it('does not show a message that another client has just marked as deleted', async () => {
    await asOther((client) => client.messageFlagsAdd('2', ['\\Deleted'], { uid: true }));
    expect(await read(2)).to.equal(null);
  });

  it('shows a message that the connection has not been told of', async () => {
    await appendMessages(server.imap(), USER, [
      { raw: plainMessage({ subject: 'new', id: '<n@example.org>' }) },
    ]);
    expect((await read(4))?.subject).to.equal('new');
  });

  it('shows nothing of a folder that was replaced', async () => {
    const [found] = await under.mail((session) =>
      session.fetch([{ ...refOf(2), uidValidity: uidValidity + 1 }], 'structure', null),
    );
    expect(found).to.equal(null);
  });

  it('has its threads looked up once, while the last text is fetched', async () => {
    await asOther((client) =>
      client.mailboxCreate('Archive').then(() => client.messageMove('3', 'Archive', { uid: true })),
    );
    const archived = await under.mail(async (session) => ({
      folder: ARCHIVE,
      uidValidity: (await session.folderStatus(ARCHIVE)).uidValidity,
      uid: 1,
    }));
    const asked: (readonly (string | null)[])[] = [];
    const found = await under.gateway.withConnection('mbx_test', (connection) =>
      fetchPlaces(connection, [archived, refOf(2)], {
        depth: 'structure',
        text: { chars: 100, source: 'plain' },
        withThreads: async (messages) => {
          asked.push(messages.map(({ subject }) => subject));
          const before = steps;
          await eventually(() => steps > before);
          return messages.map((message) => ({ ...message, threadId: `of ${String(message.subject)}` }));
        },
      }),
    );
    expect(asked).to.deep.equal([['message 3', 'message 2']]);
    expect(found.map((each) => [each?.threadId, each?.text?.content.trim()])).to.deep.equal([
      ['of message 3', 'Hello there.'],
      ['of message 2', 'Hello there.'],
    ]);
  });
});

describe('a message that goes away while its open folder answers for it', () => {
  it('is not shown', async () => {
    const account = new PlainAccount(['INBOX']);
    const server = await ScriptedImapServer.start(MODERN, account);
    const [raw = ''] = RAWS;
    const delivered = account.deliver({ raw, labels: ['INBOX'] });
    const under = mailGateway(server.imap(), USER);
    try {
      const found = await under.mail(async (session) => {
        const { uidValidity } = await session.folderStatus(INBOX);
        const read = () => session.fetch([{ folder: INBOX, uidValidity, uid: 1 }], 'structure', null);
        const before = await read();
        const afterFetch = (): void => {
          server.habits = MODERN;
          account.remove(delivered, account.folder('INBOX'));
        };
        server.habits = { ...MODERN, afterFetch };
        return [before, await read()].map(([message]) => message?.subject ?? null);
      });
      expect(found).to.deep.equal(['message 1', null]);
    } finally {
      under.gateway.close();
      await server.close();
    }
  });
});
