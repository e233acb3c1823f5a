import { expect } from 'chai';
import fc from 'fast-check';
import { EditDraftInput, Filename, Headers } from '../../../../commands/drafts/draft-input.ts';
import { asHeaderText } from '../../../../commands/values/header-fields.ts';
import { addressOf } from '../../../../commands/drafts/mail-address.ts';
import { composed, SIMPLE } from '../../../support/samples/composed-message.ts';

/** Pieces that are known to end lines, start headers or hide text. */
const piece = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  fc.constantFrom(
    '\r\n', '\n', '\r', '\0', '\v', '\f', '\u0085', '\u2028', '\u2029', '\ud800', '\r\nBcc: eve@example.net', '\n\nbody',
    '%0d%0aBcc:eve@example.net', '=?utf-8?Q?=0D=0ABcc:_eve@example.net?=', '=?utf-8?B?DQpCY2M6IGV2ZQ==?=', '=?x?q?', '?=', '"', '\\',
    '>, <eve@example.net>', ',eve@example.net', ';', ':', '(', '<', '@', '@[x@example.net]', '\t', ' ', ' '.repeat(80), '嘊嘍',
  ), // prettier-ignore
);
const hostile = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''));
/** Hostile in one place, or valid. */
const or = (usual: string) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: hostile });

const address = fc.oneof(
  fc.record({ name: or('Bob'), email: or('bob@example.org') }),
  or('bob').map((text) => `${text}@example.org`),
  or('example.org').map((text) => `bob@${text}`),
);

const input = fc.record({
  draft_id: fc.constant('drf_1'),
  to: fc.array(address, { maxLength: 3 }),
  cc: fc.array(address, { maxLength: 2 }),
  bcc: fc.constant([]),
  subject: or('Plan'),
  text: fc.constant('Hello'),
  reply_to: fc.array(address, { maxLength: 1 }),
  headers: fc.dictionary(or('X-Ticket'), or('T-1'), { maxKeys: 2 }),
  attachments: fc.array(
    fc.record({
      filename: or('a.txt'),
      content_type: or('text/plain'),
      content_base64: fc.constant('aGk='),
    }),
    { maxLength: 1 },
  ),
});

const USUAL = [
  'from', 'to', 'cc', 'reply-to', 'subject', 'message-id', 'mime-version', 'content-type', 'content-transfer-encoding',
]; // prettier-ignore

describe('validation of header fields from callers', function () {
  this.timeout(60_000);

  it('refuses the input or yields exactly the intended fields', async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(input, async (sent) => {
        const parsed = EditDraftInput.safeParse(sent);
        if (!parsed.success) return;
        taken += 1;
        const { to, cc, reply_to = [], subject, headers = {}, attachments } = parsed.data;
        const read = await composed({
          ...SIMPLE,
          to: to.map(addressOf),
          cc: cc.map(addressOf),
          replyTo: reply_to.map(addressOf),
          subject,
          headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
          attachments: attachments.flatMap((given) =>
            'content_base64' in given
              ? [
                  {
                    filename: given.filename,
                    contentType: given.content_type ?? 'a/b',
                    contentId: null,
                    bytes: none,
                  },
                ]
              : [],
          ),
        });
        const added = Object.keys(headers).map((name) => name.toLowerCase());
        for (const name of read.headerNames) expect([...USUAL, ...added]).to.include(name);
        expect(new Set(read.headerNames).size).to.equal(read.headerNames.length);
        expect(read.raw.toString('latin1')).not.to.match(/^bcc:/im);
        const sentTo = [read.parsed.to ?? []].flat().flatMap(({ value }) => value);
        expect(sentTo).to.have.length(to.length);
        expect(JSON.stringify([...read.parsed.headers])).not.to.match(/\\r|\\n|\\u0000|\\u0085/);
      }),
      { numRuns: 800 },
    );
    expect(taken, 'some get through, else this says nothing').to.be.above(100);
  });

  it('refuses names that route, date, sign or describe the message', () => {
    for (const name of [
      'Bcc', 'From', 'Date', 'Message-ID', 'Sender', 'To', 'Received', 'Return-Path', 'DKIM-Signature', 'Content-Type', 'MIME-Version',
      'X-SMTPAPI', 'X-MC-BccAddress', 'X-Mailgun-Recipient-Variables', 'X-Mailbox-Gateway-Draft', 'X-A: b', 'X-Ä', '', 'X-',
    ]) {
      expect(Headers.safeParse(Object.fromEntries([[name, 'a']])).success, name).to.equal(false);
    } // prettier-ignore
    for (const name of ['X-Ticket', 'List-Unsubscribe', 'Importance', 'Auto-Submitted']) {
      expect(Headers.safeParse({ [name]: 'a' }).success, name).to.equal(true);
    }
    expect(Headers.safeParse({ 'X-A': '1', 'x-a': '2' }).success).to.equal(false);
  });

  it('refuses file names that contain a path', () => {
    for (const name of ['../a', 'a/b', 'a\\b', '..', '.', 'a\u202eb\n', ''])
      expect(Filename.safeParse(name).success, name).to.equal(false);
  });

  it('yields one line when the text comes from a received message', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const clean = asHeaderText(text, 40);
        expect(clean).not.to.match(/[\p{Cc}\p{Zl}\p{Zp}]|=\?/u);
        expect(clean.isWellFormed() && clean.length <= 40).to.equal(true);
      }),
    );
  });
});

async function* none(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from('hi'));
}
