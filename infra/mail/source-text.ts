/** The text of a message whose parts its mail server could not separate, from the source. */
import { simpleParser } from 'mailparser';
import type { BodySource } from '../../commands/mail/message.ts';
import { decodeUndeclared } from './charsets.ts';
import { fetchMessages } from './fetch-messages.ts';
import type { ImapConnection } from './imap-connection.ts';

/** No more of such a message is read. */
const MOST_BYTES = 1024 * 1024;

export interface SourceText {
  readonly text: string;
  readonly isHtml: boolean;
}

/**
 * The reading of a different parser, or, where that fails or exceeds its limits, the source below the header. Null where
 * there is nothing: the sender wrote nothing. Throws like `ImapConnection.run`.
 */
export async function readSource(
  connection: ImapConnection,
  uid: number,
  source: BodySource,
  maxBytes: number,
): Promise<SourceText | null> {
  const range = { start: 0, maxLength: Math.min(maxBytes, MOST_BYTES) };
  const [fetched] = await fetchMessages(connection, [uid], { source: range });
  // imapflow gives `false` for NIL.
  const raw = fetched?.source;
  if (!Buffer.isBuffer(raw)) return null;
  const { html, text } = await parsed(raw);
  if (html.trim() !== '' && (source === 'html' || text.trim() === '')) return { text: html, isHtml: true };
  if (text.trim() !== '') return { text, isHtml: false };
  const below = decodeUndeclared(raw)
    .replaceAll('\r\n', '\n')
    .replace(/^[^]*?\n\n/, '');
  return hasWords(below) ? { text: below, isHtml: false } : null;
}

/** Both empty for a source beyond the parser's limits. */
async function parsed(raw: Buffer): Promise<{ readonly html: string; readonly text: string }> {
  const options = {
    skipHtmlToText: true,
    skipImageLinks: true,
    skipTextToHtml: true,
    skipTextLinks: true,
  };
  const read = await simpleParser(raw, options).catch(() => null);
  const html = read?.html ?? '';
  return { html: html === false ? '' : html, text: read?.text ?? '' };
}

/** Ignores boundary lines and lines of part headers. */
const hasWords = (text: string): boolean =>
  text.split('\n').some((line) => line.trim() !== '' && !/^(?:--|content-[\w-]+:|\s)/i.test(line));
