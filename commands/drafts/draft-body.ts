/**
 * The body of one version: rendered from what a caller wrote into the parts that are sent, always plain text,
 * and HTML for HTML or Markdown; kept in the content store with its Markdown source.
 */
import { z } from 'zod';
import { type ContentOwner, type ContentStore, readText } from '../ports/content-store.ts';
import { GatewayError } from '../values/errors.ts';
import { escapeText } from '../html/html-markup.ts';
import type { Markup } from '../ports/markup.ts';
import { MarkupRefused } from '../html/markup-refused.ts';
import type { WrittenMarkup } from '../html/written-markup.ts';
import type { BodyInput } from './draft-input.ts';

export const DraftBody = z.object({
  text: z.string(),
  /** Null = sent as plain text only. */
  html: z.string().nullable(),
  /** What the caller wrote, where it was Markdown. */
  markdown: z.string().nullable(),
});
export type DraftBody = z.output<typeof DraftBody>;

/** A rendered, quoted and escaped body is far below this. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Stores a body under a new id. It does not expire before its draft is erased, because a version will name
 * it.
 */
export async function storeBody(
  content: ContentStore,
  id: string,
  owner: ContentOwner,
  body: DraftBody,
): Promise<string> {
  const facts = { id, kind: 'body', owner, filename: null, contentType: 'application/json' } as const;
  const bytes = Buffer.from(JSON.stringify(body));
  await content.put({ ...facts, maxBytes: MAX_BODY_BYTES, expiresAt: null }, inOnePiece(bytes));
  return id;
}

export async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

/** Null when it was erased with its draft. */
export async function loadBody(content: ContentStore, contentId: string): Promise<DraftBody | null> {
  try {
    return DraftBody.parse(JSON.parse(await readText(content, contentId)));
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'not_found') return null;
    throw error;
  }
}

export const EMPTY_BODY: DraftBody = { text: '', html: null, markdown: null };

type Rendering = Pick<Markup, 'render'>;

/**
 * The one body of an input, or null when it has none. Throws `invalid_request` with its path for HTML or
 * Markdown that cannot be rendered within the limits, and `overloaded`.
 */
export async function renderBody(
  markup: Rendering,
  { text, html, markdown }: BodyInput,
): Promise<DraftBody | null> {
  if (markdown != null)
    return { ...(await rendered(markup, { format: 'markdown', source: plain(markdown) })), markdown };
  if (html != null)
    return { ...(await rendered(markup, { format: 'html', source: plain(html) })), markdown: null };
  return text == null ? null : { text: plain(text), html: null, markdown: null };
}

async function rendered(
  markup: Rendering,
  written: WrittenMarkup,
): Promise<Pick<DraftBody, 'text' | 'html'>> {
  try {
    return await markup.render(written);
  } catch (error) {
    if (!(error instanceof MarkupRefused)) throw error;
    const issue = { path: written.format, code: error.reason, message: error.message };
    const what = written.format === 'html' ? 'HTML' : 'Markdown';
    throw new GatewayError('invalid_request', `This ${what} cannot be rendered. ${error.message}`, {
      details: { issues: [issue] },
      cause: error,
    });
  }
}

/**
 * Converts line ends to LF, repairs lone surrogates and removes NUL, which no transfer encoding carries
 * safely.
 */
const plain = (text: string): string =>
  text.toWellFormed().replaceAll(/\r\n?/g, '\n').replaceAll('\u0000', '');

/** Text that is placed below another: `quoted` is a received text, never parsed as HTML or Markdown. */
export interface Appendix {
  readonly intro: string;
  readonly quoted: string;
  /** The same as clean HTML; the body then has HTML too, whatever was written above. */
  readonly quotedHtml?: string;
  /** `quote` = as the history of a reply, every line marked; `below` = as a forwarded message, unchanged. */
  readonly as: 'quote' | 'below';
}

/** The body with a received text below it, in the plain text and in the HTML. */
export function withAppendix(body: DraftBody, { intro, quoted, quotedHtml, as }: Appendix): DraftBody {
  const original = plain(quoted).trimEnd();
  const lines = as === 'quote' ? original.split('\n').map(markLine).join('\n') : original;
  const text = [...(body.text === '' ? [] : [body.text.trimEnd()]), `${intro}\n${lines}\n`].join('\n\n');
  if (body.html === null && quotedHtml === undefined) return { ...body, text };
  const above = body.html ?? (body.text === '' ? '' : `<p>${breaks(body.text.trimEnd())}</p>`);
  const content = quotedHtml ?? breaks(original);
  const below =
    as === 'quote'
      ? `<p>${breaks(intro)}</p>\n<blockquote type="cite">${content}</blockquote>`
      : `<p>${breaks(intro)}</p>\n<div>${content}</div>`;
  return { ...body, text, html: `${above}\n${below}\n` };
}

/** RFC 3676 4.5: a line that is already quoted gets no space. */
const markLine = (line: string): string => (line === '' || line.startsWith('>') ? `>${line}` : `> ${line}`);

const breaks = (text: string): string => escapeText(text).replaceAll('\n', '<br>\n');
