/** Renders a caller's HTML or Markdown for sending: clean HTML and its plain text. */
import { Parser } from 'htmlparser2';
import { Marked } from 'marked';
import sanitize from 'sanitize-html';
import { htmlToText } from './html-text.ts';
import { isMailFont, mailStyle } from './mail-style.ts';
import { MarkupRefused } from './markup-refused.ts';

/**
 * For all tables together: every row is filled up to the columns of its head, so few characters could make
 * many cells.
 */
const MAX_TABLE_CELLS = 20_000;
/** Nesting depth of elements. Deeper than any mail; the time of parsers is quadratic in it. */
const MAX_DEPTH = 100;
/** Characters of HTML rendered from a body. */
const MAX_RENDERED_CHARS = 1_000_000;

const DELIMITERS = /^ {0,3}\|?[ \t]*:?-[-| :\t]*$/;

/** A parser for one text. */
function markdownParser(): Marked {
  const marked = new Marked({ gfm: true, async: false });
  let cells = 0;
  marked.use({
    tokenizer: {
      table(source) {
        const [head = '', delimiters = ''] = source.split('\n', 2);
        if (DELIMITERS.test(delimiters)) cells += cellsOf(source, columnsOf(head));
        if (cells > MAX_TABLE_CELLS) throw tooManyCells();
        return false;
      },
    },
  });
  return marked;
}

const columnsOf = (head: string): number =>
  head
    .trim()
    .replaceAll(/^\||\|$/g, '')
    .split('|').length;

/**
 * An upper bound, counted only until it exceeds the limit: a table ends with the first empty line at the
 * latest.
 */
function cellsOf(source: string, columns: number): number {
  let at = 0;
  let cells = 0;
  while (cells <= MAX_TABLE_CELLS) {
    const end = source.indexOf('\n', at);
    cells += columns;
    if (end < 0 || source.slice(at, end).trim() === '') break;
    at = end + 1;
  }
  return cells;
}

const tooManyCells = (): MarkupRefused =>
  new MarkupRefused(
    'too_large',
    `Its tables have too many cells; at most ${String(MAX_TABLE_CELLS)} are rendered, columns of the head times rows.`,
  );

const TAGS =
  'a abbr address article aside b bdi bdo blockquote br caption center cite code col colgroup dd del details dfn div dl ' +
  'dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark ol p pre q s samp section ' +
  'small span strike strong sub summary sup table tbody td tfoot th thead tr tt u ul var wbr';

/** Nothing that runs, prompts or loads. Styles are allowed as long as they only affect the look. */
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
  // Deeper than any mail; the parser's time is quadratic in it.
  nestingLimit: 100,
};

/** An approver reads the text of a mail: a style must not add to it, move it or cover it. */
function onlyLooks(element: string, { style, face, ...rest }: sanitize.Attributes): sanitize.Attributes {
  const kept = style === undefined ? '' : mailStyle(element, style);
  return {
    ...rest,
    ...(kept === '' ? {} : { style: kept }),
    ...(face !== undefined && isMailFont(face) ? { face } : {}),
  };
}

/** Throws `MarkupRefused` when the nesting is too deep or the result too long. */
export function renderMarkup({ format, source }: WrittenMarkup): RenderedMarkup {
  const html = format === 'markdown' ? htmlOf(source) : source;
  assertShort(html);
  assertShallow(html);
  const clean = sanitize(html, POLICY);
  assertShort(clean);
  return { html: clean, text: htmlToText(clean) };
}

function htmlOf(markdown: string): string {
  try {
    return markdownParser().parse(markdown, { async: false });
  } catch (error) {
    // The parser appends its own advice to every message, so a new error is thrown.
    if (error instanceof MarkupRefused) throw tooManyCells();
    // The parser recurses at every level.
    throw tooDeep();
  }
}

const tooDeep = (): MarkupRefused =>
  new MarkupRefused(
    'too_deep',
    `It nests too deeply; at most ${String(MAX_DEPTH)} elements stand inside of each other.`,
  );

function assertShort(html: string): void {
  if (html.length <= MAX_RENDERED_CHARS) return;
  const message = `As HTML it has ${String(html.length)} characters; at most ${String(MAX_RENDERED_CHARS)} are sent.`;
  throw new MarkupRefused('too_large', message);
}

/** Parses once without output, and stops at the limit. */
function assertShallow(html: string): void {
  let depth = 0;
  const parser = new Parser({
    onopentag: () => {
      depth += 1;
      if (depth > MAX_DEPTH) throw tooDeep();
    },
    onclosetag: () => {
      depth -= 1;
    },
  });
  parser.end(html);
}

/** A body as a caller wrote it. */
export interface WrittenMarkup {
  readonly format: 'html' | 'markdown';
  readonly source: string;
}

/** The rendered form for sending: clean HTML, and its plain text. */
export interface RenderedMarkup {
  readonly html: string;
  readonly text: string;
}
