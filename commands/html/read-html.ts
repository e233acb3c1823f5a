/** The one way from a sender's HTML to something that may be handed out: as HTML, as Markdown, as text. */
import sanitize from 'sanitize-html';
import { htmlToMarkdown, htmlToText } from './html-text.ts';
import { visibleHtml, type VisibleHtml } from './visible-html.ts';

export type ReadAs = 'html' | 'markdown' | 'text';

export interface ReadHtml extends Omit<VisibleHtml, 'html'> {
  readonly content: string;
  /** The HTML was longer than what is read of it. */
  readonly isCut: boolean;
  /** It takes more time or memory than a mail may; nothing of it is shown. */
  readonly isUnreadable?: true;
}

export const UNREADABLE: ReadHtml = {
  ...{ content: '', isCut: true, isUnreadable: true, hiddenChars: 0, smallChars: 0, faintChars: 0 },
  ...{ remoteResources: 0, misleadingLinks: 0 },
};

/** Mail of persons has far less. */
export const MAX_HTML_CHARS = 500_000;

const TAGS = [
  'a', 'abbr', 'address', 'article', 'b', 'bdi', 'bdo', 'big', 'blockquote', 'br', 'caption', 'center', 'cite', 'code',
  'col', 'colgroup', 'dd', 'del', 'details', 'dfn', 'div', 'dl', 'dt', 'em', 'figcaption', 'figure', 'footer', 'h1', 'h2',
  'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'i', 'img', 'ins', 'kbd', 'li', 'main', 'mark', 'ol', 'p', 'pre', 'q', 's',
  'samp', 'section', 'small', 'span', 'strike', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'tfoot', 'th',
  'thead', 'tr', 'tt', 'u', 'ul', 'var', 'wbr',
]; // prettier-ignore

/** What is not named here does not come through, whatever was written and however it was parsed before. */
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
  // Of pictures only attachments of the same message, which have no scheme.
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

/** Reads a sender's HTML. Never throws; what is longer than `MAX_HTML_CHARS` is cut after its last whole tag. */
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

/** What is read of more than this begins with what is read of this. */
export const upToLastTag = (html: string): string => html.slice(0, html.lastIndexOf('>') + 1);
