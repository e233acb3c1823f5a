import { expect } from 'chai';
import { showText, bodyOf } from '../../../../read-api/messages/message-body.ts';
import type { FetchedText } from '../../../../commands/mail/message.ts';
import { markupThreads } from '../../../../infra/markup/worker-markup.ts';
import { MODERN } from '../../../support/servers/imap-habits.ts';
import { LabelledAccount } from '../../../support/servers/fake-gmail/labelled-account.ts';
import { mailGateway, type MailGatewayUnderTest, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const TEXTS = ['The first text.', 'The second text, which is longer.', 'A third.'];

describe(`texts that a mail server keeps back ${verifies('contract:4:text-not-given')}`, () => {
  let server: ScriptedImapServer;
  let under: MailGatewayUnderTest;

  before(async () => {
    server = await ScriptedImapServer.start(MODERN, new LabelledAccount());
    for (const text of [...TEXTS, '']) {
      server.account.deliver({ raw: `From: b@example.org\r\nSubject: x\r\n\r\n${text}`, labels: ['INBOX'] });
    }
    under = mailGateway(server.imap(), 'anna');
  });
  after(async () => {
    under.gateway.close();
    await server.close();
  });

  const read = async (): Promise<readonly FetchedText[]> => {
    const query = queryOf({ textChars: 1_000, order: 'received_asc' });
    const { messages } = await under.mail((session) => session.query(query));
    return messages.map(({ text }) => text ?? { content: 'no text', truncated: false, totalChars: 0 });
  };
  const contents = async (): Promise<readonly string[]> => (await read()).map(({ content }) => content);

  it('are requested again one by one, whatever the server sent at first', async () => {
    const quirks = [
      // The length asked for is taken to be that of the message before.
      (piece: Buffer, nth: number) => (nth === 0 ? piece : Buffer.alloc(0)),
      (piece: Buffer, nth: number) => (nth === 0 ? piece : null),
      (piece: Buffer, nth: number) => (nth === 0 ? piece : piece.subarray(0, 3)),
    ];
    for (const gives of quirks) {
      server.habits = { ...MODERN, gives };
      expect(await contents()).to.deep.equal([...TEXTS, '']);
    }
  });

  it('are null with a reason, while an empty message is empty', async () => {
    server.habits = { ...MODERN, gives: () => null };
    const texts = await read();
    expect(texts.map(({ isMissing }) => isMissing ?? false)).to.deep.equal([true, true, true, false]);
    const [missing, , , empty] = texts;
    if (!missing || !empty) throw new Error('There are four messages.');
    const window = { format: 'text', offset: 0, maxChars: 100 } as const;
    const told = bodyOf(await showText(markupThreads, missing, 'text', {}), window);
    expect(told).to.deep.include({ body: null, preview: null });
    expect(told.body_error?.code).to.equal('mailbox_unavailable');
    const previewOnly = bodyOf(await showText(markupThreads, missing, 'preview', {}), {
      ...window,
      format: 'preview',
    });
    expect(previewOnly).to.include({ preview: null }).and.not.have.property('body');
    const nothing = bodyOf(await showText(markupThreads, empty, 'text', {}), window);
    expect(nothing.preview).to.equal('');
    expect(nothing.body).to.deep.include({ content: '', truncated: false });
  });

  it('report that less arrived than was announced', async () => {
    server.habits = { ...MODERN, gives: (piece) => piece.subarray(0, 4) };
    const [text] = await read();
    if (!text) throw new Error('There is a message.');
    expect(text).to.deep.include({ content: 'The ', notes: ['text_missing'] });
    const shown = await showText(markupThreads, text, 'text', {});
    const { body } = bodyOf(shown, { format: 'text', offset: 0, maxChars: 100 });
    expect(body).to.include({ truncated: true, next_offset: null });
    expect(shown.warnings).to.deep.equal([{ code: 'text_missing', count: 1 }]);
  });
});
