/** What a caller wrote, as the parts that are sent: always plain text, and HTML where it was HTML or Markdown. */
import { Marked } from 'marked';
import sanitize from 'sanitize-html';
import { GatewayError } from '../kernel/errors.ts';
import { escapeText } from '../kernel/html/html-markup.ts';
import { isMailFont, mailStyle } from '../kernel/html/mail-style.ts';
import { htmlToText } from '../kernel/html/html-text.ts';
import type { DraftBody } from './draft-body.ts';
import type { BodyInput } from './draft-input.ts';

/** Every row is filled up to the columns of its head, so a wide one is no table but text. */
const MAX_TABLE_BARS = 60;

const marked = new Marked({ gfm: true, async: false });
marked.use({
  tokenizer: {
    table(source) {
      const [head = ''] = source.split('\n', 1);
      return head.split('|').length > MAX_TABLE_BARS ? undefined : false;
    },
  },
});

const TAGS =
  'a abbr address article aside b bdi bdo blockquote br caption center cite code col colgroup dd del details dfn div dl ' +
  'dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark ol p pre q s samp section ' +
  'small span strike strong sub summary sup table tbody td tfoot th thead tr tt u ul var wbr';

/** Nothing that runs, asks or loads a page; how it looks is the writer's own affair as long as it only looks. */
const POLICY: sanitize.IOptions = {
  allowedTags: TAGS.split(' '),
  allowedAttributes: {
    '*': 'style class id dir lang title align valign width height bgcolor'.split(' '),
    a: ['href', 'name', 'target', 'rel'],
    img: ['src', 'alt'],
    font: ['color', 'face', 'size'],
    blockquote: ['cite', 'type'],
    ol: ['start', 'type', 'reversed'],
    table: ['border', 'cellpadding', 'cellspacing'],
    td: ['colspan', 'rowspan'],
    th: ['colspan', 'rowspan', 'scope'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel', 'cid'],
  allowProtocolRelative: false,
  transformTags: { '*': (tagName, attribs) => ({ tagName, attribs: onlyLooks(tagName, attribs) }) },
  parseStyleAttributes: false,
  // Deeper than any mail; the parser's time grows with the square of it.
  nestingLimit: 100,
};

/** Whoever approves a mail reads its text: a style must not add to it, move or cover it. */
function onlyLooks(element: string, { style, face, ...rest }: sanitize.Attributes): sanitize.Attributes {
  const kept = style === undefined ? '' : mailStyle(element, style);
  return {
    ...rest,
    ...(kept === '' ? {} : { style: kept }),
    ...(face !== undefined && isMailFont(face) ? { face } : {}),
  };
}

export const EMPTY_BODY: DraftBody = { text: '', html: null, markdown: null };

/** The one body of an input, or null when it has none. Throws `invalid_request` for Markdown that cannot be read. */
export function renderBody({ text, html, markdown }: BodyInput): DraftBody | null {
  if (markdown != null) return { ...ofHtml(htmlOf(plain(markdown))), markdown };
  if (html != null) return ofHtml(plain(html));
  return text == null ? null : { text: plain(text), html: null, markdown: null };
}

function htmlOf(markdown: string): string {
  try {
    return marked.parse(markdown, { async: false });
  } catch (cause) {
    // Its parser calls itself for every level.
    const message = 'This Markdown nests too deeply to be read.';
    throw new GatewayError('invalid_request', message, {
      details: { issues: [{ path: 'markdown', code: 'custom', message }] },
      cause,
    });
  }
}

function ofHtml(html: string): DraftBody {
  const clean = sanitize(html, POLICY);
  return { text: htmlToText(clean), html: clean, markdown: null };
}

/** Line ends as LF, halves of surrogate pairs mended, no NUL: no transfer encoding carries that safely. */
const plain = (text: string): string =>
  text.toWellFormed().replaceAll(/\r\n?/g, '\n').replaceAll('\u0000', '');

/** Text that stands under another: `quoted` is a received text, never read as HTML or Markdown. */
export interface Appendix {
  readonly intro: string;
  readonly quoted: string;
  /** `quote` = as an answer's history, every line marked; `below` = as a forwarded message, as it was. */
  readonly as: 'quote' | 'below';
}

/** The body with a received text under it, in the plain text and in the HTML alike. */
export function withAppendix(body: DraftBody, { intro, quoted, as }: Appendix): DraftBody {
  const original = plain(quoted).trimEnd();
  const lines = as === 'quote' ? original.split('\n').map(markLine).join('\n') : original;
  const text = [...(body.text === '' ? [] : [body.text.trimEnd()]), `${intro}\n${lines}\n`].join('\n\n');
  if (body.html === null) return { ...body, text };
  const content = breaks(original);
  const below =
    as === 'quote'
      ? `<p>${breaks(intro)}</p>\n<blockquote type="cite">${content}</blockquote>`
      : `<p>${breaks(intro)}</p>\n<div>${content}</div>`;
  return { ...body, text, html: `${body.html}\n${below}\n` };
}

/** RFC 3676 4.5: a line that is quoted already gets no space. */
const markLine = (line: string): string => (line === '' || line.startsWith('>') ? `>${line}` : `> ${line}`);

const breaks = (text: string): string => escapeText(text).replaceAll('\n', '<br>\n');
