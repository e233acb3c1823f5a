import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { messageComposer } from '../../../../infra/mail/compose-message.ts';
import { bytesOf, composed, SIMPLE } from '../../../support/samples/composed-message.ts';
import { rejection } from '../../../support/suite/rejection.ts';

describe('composeMessage', () => {
  it('writes plain text with neither a Date nor a Bcc', async () => {
    const { parsed, headerNames, raw } = await composed({
      ...SIMPLE,
      cc: [{ name: 'Zoë "Z" Müller, Dr.', email: 'zoe@xn--bcher-kva.example' }],
      replyTo: [{ name: null, email: 'desk@example.com' }],
      subject: 'Grüße & mehr',
      inReplyTo: '<0@example.org>',
      references: ['<a@example.org>', '<0@example.org>'],
      headers: [{ name: 'X-Ticket', value: 'T-1' }],
      text: 'One\n.two\nFrom three\n\ttäb  ',
    });
    expect(headerNames).to.have.members([
      'x-ticket', 'from', 'to', 'cc', 'reply-to', 'in-reply-to', 'references', 'subject', 'message-id',
      'content-transfer-encoding', 'mime-version', 'content-type',
    ]); // prettier-ignore
    expect(parsed.text?.trimEnd()).to.equal('One\n.two\nFrom three\n\ttäb');
    expect(parsed.subject).to.equal('Grüße & mehr');
    expect(parsed.cc).to.have.nested.property('value[0].name', 'Zoë "Z" Müller, Dr.');
    expect(parsed.references).to.deep.equal(['<a@example.org>', '<0@example.org>']);
    expect(raw.toString('latin1')).to.match(/^[\0-\x7f]*$/);
  });

  it('nests alternatives, inline parts and attachments', async () => {
    const picture = randomBytes(3_000);
    const { parsed, raw } = await composed({
      ...SIMPLE,
      html: '<p>Hello <img src="cid:logo"></p>',
      attachments: [
        { filename: 'logo.png', contentType: 'image/png', contentId: 'logo', bytes: () => bytesOf(picture) },
        { filename: 'Über "uns".txt', contentType: 'text/plain; charset=utf-8', contentId: null, bytes: () => bytesOf('grüß') },
        { filename: 'mail.eml', contentType: 'message/rfc822', contentId: null, bytes: () => bytesOf('Subject: ä\n\nlong') },
        { filename: 'tree', contentType: 'multipart/mixed; boundary=x', contentId: null, bytes: () => bytesOf('x') },
      ],
    }); // prettier-ignore
    const text = raw.toString('latin1');
    for (const type of ['mixed', 'alternative', 'related']) expect(text).to.include(`multipart/${type}`);
    const shown = parsed.attachments.map(({ filename, related = false }) => [filename, related]);
    expect(shown).to.have.deep.members([
      ['logo.png', true],
      ['Über "uns".txt', false],
      ['mail.eml', false],
      ['tree', false],
    ]);
    // No encoding may stand on these (RFC 2046 5.2.1), so they go as files.
    expect(text).not.to.match(/content-type: (?:message\/rfc822|multipart\/mixed; boundary=x)/i);
    expect(
      parsed.attachments.find(({ filename }) => filename === 'logo.png')?.content.equals(picture),
    ).to.equal(true);
    expect(text).to.match(/^[\0-\x7f]*$/);
  });

  it('writes the date when given, and keeps long lines and empty bodies in order', async () => {
    const dated = await composed({
      ...SIMPLE,
      subject: 'x'.repeat(900),
      text: `${'y'.repeat(5_000)}\nend`,
      date: new Date('2026-03-01T12:00:00Z'),
    });
    expect(dated.parsed.date?.toISOString()).to.equal('2026-03-01T12:00:00.000Z');
    expect(dated.parsed.text?.trimEnd()).to.equal(`${'y'.repeat(5_000)}\nend`);
    const empty = await composed({ ...SIMPLE, text: '', subject: '', to: [] });
    expect(empty.parsed.text?.trim()).to.equal('');
    expect(empty.headerNames).not.to.include('to').and.not.to.include('date');
  });

  it('keeps a non-ASCII local part as it is (RFC 6532)', async () => {
    const { parsed } = await composed({ ...SIMPLE, to: [{ name: null, email: 'jörg@bücher.example' }] });
    expect(parsed.to).to.have.nested.property('value[0].address', 'jörg@bücher.example');
  });

  it('fails with the error of an attachment and reads the others no further', async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        read += 1;
        yield await Promise.resolve(Buffer.alloc(65_536));
      }
    }
    async function* stale(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from('begun'));
      throw new GatewayError('message_stale', 'gone');
    }
    const attachment = { filename: 'a', contentType: 'application/pdf', contentId: null };
    const failing = {
      ...SIMPLE,
      attachments: [
        { ...attachment, bytes: stale },
        { ...attachment, bytes: endless },
      ],
    };
    expect(await rejection(composed(failing))).to.include({ code: 'message_stale' });
    expect(read).to.equal(0);
    for await (const piece of messageComposer.compose({
      ...SIMPLE,
      attachments: [{ ...attachment, bytes: endless }],
    })) {
      if (piece.length > 60_000) break;
    }
    const afterwards = read;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(read).to.equal(afterwards);
  });

  it('reads an attachment only as fast as it is consumed', async () => {
    let given = 0;
    async function* large(): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 400; index += 1) {
        given += 65_536;
        yield await Promise.resolve(Buffer.alloc(65_536));
      }
    }
    const attachments = [{ filename: 'a', contentType: 'application/pdf', contentId: null, bytes: large }];
    let taken = 0;
    for await (const piece of messageComposer.compose({ ...SIMPLE, attachments })) {
      taken += piece.length;
      expect(given - taken).to.be.below(1_500_000);
    }
    expect(taken).to.be.above(given);
  });
});
