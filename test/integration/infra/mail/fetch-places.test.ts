import { expect } from 'chai';
import type { FetchedMessage, MessageRef } from '../../../../commands/mail/message.ts';
import { fetchPlaces } from '../../../../infra/mail/fetch-places.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { appendMessages, plainMessage, withClient } from '../../../support/servers/mail-append.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import {
  ARCHIVE,
  INBOX,
  mailGateway,
  type MailGatewayUnderTest,
} from '../../../support/worlds/mail-gateway.ts';

const USER = 'anna';
const RAWS = [1, 2, 3].map((n) =>
  plainMessage({ subject: `message ${String(n)}`, id: `<${String(n)}@example.org>` }),
);

type WithThreads = Parameters<typeof fetchPlaces>[2]['withThreads'];

describe('the threads of messages that are fetched with their text', () => {
  let server: TestDovecot;
  let under: MailGatewayUnderTest;
  let steps = 0;
  let refs: readonly MessageRef[] = [];

  before(async function () {
    server = await requireTestDovecot(this);
    await appendMessages(
      server.imap(),
      USER,
      RAWS.map((raw) => ({ raw })),
    );
    await withClient(server.imap(), USER, async (client) => {
      await client.mailboxCreate('Archive').catch(() => undefined);
      await client.mailboxOpen('INBOX');
      await client.messageMove('3', 'Archive', { uid: true });
    });
    under = mailGateway(server.imap(), USER, {
      onCommand: () => {
        steps += 1;
      },
    });
    const validityOf = (folder: MessageRef['folder']) =>
      under.mail(async (session) => (await session.folderStatus(folder)).uidValidity);
    refs = [
      { folder: ARCHIVE, uidValidity: await validityOf(ARCHIVE), uid: 1 },
      { folder: INBOX, uidValidity: await validityOf(INBOX), uid: 2 },
    ];
  });

  after(async () => {
    under.gateway.close();
    await server.dispose();
  });

  const read = (withThreads: WithThreads) =>
    under.gateway.withConnection(
      'mbx_test',
      async (connection) => {
        const request = { depth: 'structure', text: { chars: 100, source: 'plain' }, withThreads } as const;
        return await fetchPlaces(connection, refs, request);
      },
      true,
    );

  it('are looked up once for all, while the last text is fetched', async () => {
    const asked: (readonly (string | null)[])[] = [];
    const found = await read(async (messages) => {
      asked.push(messages.map(({ subject }) => subject));
      const before = steps;
      await eventually(() => steps > before);
      return messages.map((message) => ({ ...message, threadId: `of ${String(message.subject)}` }));
    });
    expect(asked).to.deep.equal([['message 3', 'message 2']]);
    const shown = (message: FetchedMessage | null) => [message?.threadId, message?.text?.content.trim()];
    expect(found.map(shown)).to.deep.equal([
      ['of message 3', 'Hello there.'],
      ['of message 2', 'Hello there.'],
    ]);
  });

  it('that cannot be looked up leave no command behind on the connection', async () => {
    const before = steps;
    await read((messages) => Promise.resolve(messages));
    const commands = steps - before;
    const failed = steps;
    const error = await rejection(read(() => Promise.reject(new Error('no database'))));
    expect(error.message).to.equal('no database');
    expect(steps - failed).to.equal(commands);
  });
});
