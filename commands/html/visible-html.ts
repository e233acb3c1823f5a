/**
 * The visible part of an HTML mail: text hidden by style is omitted and counted, small and faint text marked,
 * nothing loads or runs, and links show their host. The output is balanced and nests at most 100 deep, so
 * that later processing stays linear.
 */
import { endTag, escapeText, type Link, linkOf, namesOtherHost, startTag } from './html-markup.ts';
import { parseInSlices, type TagHandler } from './parse-in-slices.ts';
import { OUTERMOST, remoteSource, seeElement, type SeenElement } from './computed-style.ts';
import type { StyleRules } from './style-rules.ts';
import { styleRulesOf } from './style-rules.ts';
import { type Sight, sightOf, type TextLook } from './text-look.ts';

export interface VisibleHtml {
  readonly html: string;
  readonly hiddenChars: number;
  /** Marked text below 8 pixels, or of an unknown size. */
  readonly smallChars: number;
  /** Marked text with a contrast below 2, or of an unknown colour. */
  readonly faintChars: number;
  /** Pictures and the like that would be loaded over the network. */
  readonly remoteResources: number;
  /** Links whose text names another host than their target. */
  readonly misleadingLinks: number;
}

export interface VisibleOptions {
  /** The source for a picture of the message itself, by Content-ID; null = no such picture. */
  readonly imageSource: (contentId: string) => string | null;
  /** Adds `[host]` after each link. */
  readonly showHosts: boolean;
}

const MAX_WRITTEN_DEPTH = 100;
const MAX_LINK_TEXT = 300;

const VOID: ReadonlySet<string> = new Set(['br', 'hr', 'img', 'wbr', 'col']);

interface Frame extends SeenElement {
  readonly written: boolean;
  readonly link: Link | null;
  linkText: string;
}

const NOT_WRITTEN = { written: false, link: null } as const;
const ROOT: Frame = { ...OUTERMOST, ...NOT_WRITTEN, linkText: '' };

/** Reads any HTML; never throws. */
export async function visibleHtml(html: string, options: VisibleOptions): Promise<VisibleHtml> {
  const reader = new VisibleReader(await styleRulesOf(html), options);
  await parseInSlices(html, reader);
  return reader.result();
}

class VisibleReader implements TagHandler {
  readonly #rules: StyleRules;
  readonly #options: VisibleOptions;
  readonly #out: string[] = [];
  readonly #frames: Frame[] = [];
  readonly #counts = { hiddenChars: 0, smallChars: 0, faintChars: 0, remoteResources: 0, misleadingLinks: 0 };
  #writtenDepth = 0;
  /** The open mark, and the element with which it ends at the latest. */
  #marked: { readonly sight: Sight; readonly depth: number } | null = null;

  constructor(rules: StyleRules, options: VisibleOptions) {
    this.#rules = rules;
    this.#options = options;
  }

  get openTags(): number {
    return this.#frames.length;
  }

  result(): VisibleHtml {
    this.#endMark();
    return { html: this.#out.join(''), ...this.#counts };
  }

  onopentag(name: string, attributes: Record<string, string>): void {
    const seen = seeElement(this.#rules, this.#frames, name, attributes);
    if (!seen.dropped && remoteSource(name, attributes) !== null) this.#counts.remoteResources += 1;
    const written = seen.dropped || seen.hidden ? NOT_WRITTEN : this.#write(name, attributes, seen.look);
    if (written.written && strikesByStyle(seen)) this.#out.push('<s>');
    this.#frames.push({ ...seen, ...written, linkText: '' });
  }

  ontext(text: string): void {
    const frame = this.#frames.at(-1) ?? ROOT;
    if (frame.dropped) return;
    const sight = frame.hidden ? 'hidden' : sightOf(frame.look);
    const letters = text.replaceAll(/[\s\p{Cf}]+/gu, '').length;
    if (sight !== 'seen') this.#counts[`${sight}Chars`] += letters;
    if (sight === 'hidden') {
      // Leading whitespace stays as one space.
      if (!frame.hidden && /^\s/.test(text)) this.#out.push(' ');
      return;
    }
    if (letters > 0) this.#mark(sight);
    this.#out.push(escapeText(sight === 'seen' ? text : text.replaceAll(/[\u27e6\u27e7]/g, ' ')));
    const link = this.#frames.findLast((each) => each.link !== null);
    if (link && link.linkText.length < MAX_LINK_TEXT) link.linkText += text.slice(0, MAX_LINK_TEXT);
  }

  onclosetag(): void {
    if (this.#marked !== null && this.#marked.depth >= this.#frames.length) this.#endMark();
    const frame = this.#frames.pop();
    if (!frame?.written) return;
    this.#writtenDepth -= 1;
    this.#out.push(strikesByStyle(frame) ? '</s>' : '', endTag(frame.name));
    const host = frame.link?.host ?? null;
    if (host === null) return;
    if (namesOtherHost(frame.linkText, host)) this.#counts.misleadingLinks += 1;
    if (this.#options.showHosts && frame.linkText.trim() !== '') this.#out.push(` [${host}]`);
  }

  /** The mark uses brackets that text of the mail cannot close: such brackets in the text become spaces. */
  #mark(sight: Sight): void {
    if (this.#marked?.sight === sight) return;
    this.#endMark();
    if (sight === 'seen') return;
    this.#out.push(`\u27e6${sight} text: `);
    this.#marked = { sight, depth: this.#frames.length };
  }

  #endMark(): void {
    if (this.#marked !== null) this.#out.push('\u27e7');
    this.#marked = null;
  }

  #write(name: string, attributes: Record<string, string>, look: TextLook): Pick<Frame, 'written' | 'link'> {
    if (VOID.has(name)) {
      if (name === 'img') this.#writeImage(attributes, look);
      else this.#out.push(startTag(name, attributes));
      return NOT_WRITTEN;
    }
    if (this.#writtenDepth >= MAX_WRITTEN_DEPTH) return NOT_WRITTEN;
    const link = name === 'a' ? linkOf(attributes['href']) : null;
    this.#out.push(startTag(name, link === null ? attributes : { ...attributes, href: link.href }));
    this.#writtenDepth += 1;
    return { written: true, link };
  }

  /** Writes a picture of the message itself, or its alternative text. */
  #writeImage({ src = '', alt = '' }: Record<string, string>, { invisible }: TextLook): void {
    if (invisible) return;
    const source = /^cid:/i.test(src) ? this.#options.imageSource(contentIdOf(src)) : null;
    if (source !== null) this.#out.push(startTag('img', { src: source, alt }));
    else if (alt.trim() !== '') this.#out.push(startTag('img', { alt }));
  }
}

const STRIKING: ReadonlySet<string> = new Set(['s', 'strike', 'del']);
const strikesByStyle = ({ name, struck }: SeenElement): boolean => struck && !STRIKING.has(name);

/** Content-IDs in URLs are percent-encoded (RFC 2392). */
function contentIdOf(url: string): string {
  const text = url.slice('cid:'.length);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
