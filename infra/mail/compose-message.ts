/** The `MessageComposer` port on nodemailer, which writes MIME; its input was validated before. */
import { Readable } from 'node:stream';
import MailComposer from 'nodemailer/lib/mail-composer';
import type {
  ComposedAttachment,
  MessageComposer,
  MessageToCompose,
} from '../../commands/ports/message-composer.ts';
import type { Address } from '../../commands/mail/message.ts';

/** Size of the pieces of a stream, and of the buffer for a slow reader. */
const PIECE_BYTES = 64 * 1024;

export const messageComposer: MessageComposer = { compose: composeMessage };

async function* composeMessage(message: MessageToCompose): AsyncGenerator<Uint8Array, void, undefined> {
  const stream = mimeOf(message).createReadStream({ highWaterMark: PIECE_BYTES });
  // Ending the iteration destroys the stream, and with it the sources of the attachments.
  for await (const piece of stream) yield piece as Uint8Array;
}

function mimeOf(message: MessageToCompose) {
  const root = new MailComposer({
    from: addressOf(message.from),
    to: message.to.map(addressOf),
    cc: message.cc.map(addressOf),
    replyTo: message.replyTo.map(addressOf),
    subject: message.subject,
    messageId: message.messageId,
    ...(message.inReplyTo === null ? {} : { inReplyTo: message.inReplyTo }),
    ...(message.references.length === 0 ? {} : { references: [...message.references] }),
    headers: message.headers.map(({ name, value }) => ({ key: name, value })),
    text: message.text === '' && message.html === null ? '\n' : message.text,
    ...(message.html === null ? {} : { html: message.html }),
    attachments: message.attachments.map(attachmentOf),
    newline: 'windows',
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  // A header without a value is omitted; nodemailer must not invent one.
  root.setHeader('Date', message.date === null ? ' ' : message.date.toUTCString().replace('GMT', '+0000'));
  return root;
}

const addressOf = ({ name, email }: Address) => ({ name: name ?? '', address: email });

const attachmentOf = ({ filename, contentType, contentId, bytes }: ComposedAttachment) => ({
  filename: filename ?? (false as const),
  contentType: leafType(contentType),
  contentTransferEncoding: 'base64' as const,
  contentDisposition: contentId === null ? ('attachment' as const) : ('inline' as const),
  ...(contentId === null ? {} : { cid: contentId }),
  content: Readable.from(bytes()),
});

/** RFC 2045 6.4: these must not be encoded, so what cannot be sent unencoded becomes a file. */
const leafType = (contentType: string): string =>
  /^(?:message|multipart)\//i.test(contentType) ? 'application/octet-stream' : contentType;
