/** The only way from a sender's HTML to output: as HTML, as Markdown, as text. */
import sanitize from 'sanitize-html';
import { MAX_HTML_CHARS, upToLastTag } from './html-length.ts';
import { htmlToMarkdown, htmlToText } from './html-text.ts';
import { visibleHtml, type VisibleHtml } from './visible-html.ts';

export type ReadAs = 'html' | 'markdown' | 'text';

export interface ReadHtml extends Omit<VisibleHtml, 'html'> {
  readonly content: string;
  /** The HTML was longer than the part that is read. */
  readonly isCut: boolean;
  /** It requires more time or memory than a mail may use; none of it is shown. */
  readonly isUnreadable?: true;
}

const TAGS = [
  'a', 'abbr', 'address', 'article', 'b', 'bdi', 'bdo', 'big', 'blockquote', 'br', 'caption', 'center', 'cite', 'code',
  'col', 'colgroup', 'dd', 'del', 'details', 'dfn', 'div', 'dl', 'dt', 'em', 'figcaption', 'figure', 'footer', 'h1', 'h2',
  'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'i', 'img', 'ins', 'kbd', 'li', 'main', 'mark', 'ol', 'p', 'pre', 'q', 's',
  'samp', 'section', 'small', 'span', 'strike', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'tfoot', 'th',
  'thead', 'tr', 'tt', 'u', 'ul', 'var', 'wbr',
]; // prettier-ignore

/** Anything not named here is removed, however it was written or parsed before. */
const POLICY: sanitize.IOptions = {
  allowedTags: TAGS,
  allowedAttributes: {
    '*': ['dir', 'lang', 'title', 'align', 'valign'],
    a: ['href', 'rel'],
    img: ['src', 'alt'],
    ol: ['start', 'type'],
    td: ['colspan', 'rowspan'],
    th: ['colspan', 'rowspan'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  // Only pictures attached to the same message, which have no scheme.
  allowedSchemesByTag: { img: [] },
  allowProtocolRelative: false,
  enforceHtmlBoundary: false,
  parseStyleAttributes: false,
  transformTags: {
    a: (tagName, attribs) => ({ tagName, attribs: { ...attribs, rel: 'noopener noreferrer nofollow' } }),
    img: (tagName, { src, ...attribs }) => ({
      tagName,
      attribs: src !== undefined && /^att_[0-9a-z]+$/.test(src) ? { src, ...attribs } : attribs,
    }),
  },
};

/** The attachment id of a part by its Content-ID; null = the message has no such part. */
export type AttachmentIdOf = (contentId: string) => string | null;

/**
 * Reads a sender's HTML. Never throws. Input longer than `MAX_HTML_CHARS` is cut after its last complete tag.
 */
export async function readHtml(html: string, as: ReadAs, imageSource: AttachmentIdOf): Promise<ReadHtml> {
  const isCut = html.length > MAX_HTML_CHARS;
  const source = isCut ? upToLastTag(html.slice(0, MAX_HTML_CHARS)) : html;
  const { html: visible, ...found } = await visibleHtml(source, {
    imageSource,
    showHosts: as !== 'markdown',
  });
  const safe = sanitize(visible, POLICY);
  const content = as === 'html' ? safe : as === 'markdown' ? htmlToMarkdown(safe) : htmlToText(safe);
  return { ...found, content, isCut };
}
