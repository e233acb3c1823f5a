/** A composed message, read by another parser, with its bytes inspected. */
import { expect } from 'chai';
import { type ParsedMail, simpleParser } from 'mailparser';
import type { MessageToCompose } from '../../../commands/ports/message-composer.ts';
import { messageComposer } from '../../../infra/mail/compose-message.ts';

export interface ReadMessage {
  readonly raw: Buffer;
  readonly parsed: ParsedMail;
  /** Names of the top-level header fields, lower case, in order. */
  readonly headerNames: readonly string[];
}

export const SIMPLE: MessageToCompose = {
  messageId: '<1@example.com>',
  from: { name: 'Anna', email: 'anna@example.com' },
  to: [{ name: 'Bob', email: 'bob@example.org' }],
  cc: [],
  replyTo: [],
  subject: 'Plan',
  inReplyTo: null,
  references: [],
  headers: [],
  text: 'Hello',
  html: null,
  attachments: [],
  date: null,
};

export async function* bytesOf(...pieces: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield await Promise.resolve(Buffer.from(piece));
}

/** Composes the message and reads it back; asserts the properties that every message must keep. */
export async function composed(message: MessageToCompose): Promise<ReadMessage> {
  const pieces: Uint8Array[] = [];
  for await (const piece of messageComposer.compose(message)) pieces.push(piece);
  const raw = Buffer.concat(pieces);
  const text = raw.toString('latin1');
  expect(text, 'only CRLF ends lines').not.to.match(/(^|[^\r])\n|\r(?!\n)/);
  expect(Math.max(...text.split('\r\n').map((line) => line.length))).to.be.at.most(998);
  const [head = ''] = text.split('\r\n\r\n', 1);
  const fields = head.replaceAll(/\r\n[ \t]/g, ' ').split('\r\n');
  const headerNames = fields.map(
    (field) => /^([!-9;-~]+):/.exec(field)?.[1]?.toLowerCase() ?? `not a field: ${field}`,
  );
  return { raw, parsed: await simpleParser(raw), headerNames };
}
