/**
 * The HTML of a mail for approvers: all text in document order without the mail's styles, with hidden text marked, links with
 * their target, and pictures described but never loaded.
 */
import sanitize from 'sanitize-html';
import { linkOf, namesOtherHost } from '../../../commands/html/html-markup.ts';
import { parseInSlices, type TagHandler } from '../../../commands/html/parse-in-slices.ts';
import { MAX_HTML_CHARS, upToLastTag } from '../../../commands/html/html-length.ts';
import {
  type Attributes,
  OUTERMOST,
  remoteSource,
  seeElement,
  type SeenElement,
} from '../../../commands/html/computed-style.ts';
import type { ShownMail } from '../../../commands/ports/markup.ts';
import type { StyleRules } from '../../../commands/html/style-rules.ts';
import { styleRulesOf } from '../../../commands/html/style-rules.ts';
import { type Sight, sightOf } from '../../../commands/html/text-look.ts';
import { lookAtDomain } from '../../../commands/mail/look-alikes.ts';
import { mailPieces, marksIn } from './mail-text.ts';
import { ListNumbers, MailSink, markWords, type Words, WRITTEN_TAGS } from './mail-sink.ts';
import { mark, type Piece, visible } from '../../../commands/html/visible-text.ts';
import { declarationsIn, isTooLong } from '../../../commands/html/css.ts';

/** The last filter: nothing else passes, whatever the code above it wrote. */
const GATE: sanitize.IOptions = {
  allowedTags: [...WRITTEN_TAGS],
  allowedAttributes: {},
  allowedClasses: { span: ['mark'] },
  enforceHtmlBoundary: false,
  parseStyleAttributes: false,
};

/** Accepts any HTML; never throws. */
export async function renderMailHtml(html: string): Promise<ShownMail> {
  const isCut = html.length > MAX_HTML_CHARS;
  const source = isCut ? upToLastTag(html.slice(0, MAX_HTML_CHARS)) : html;
  const reader = new MailReader(await styleRulesOf(source));
  await parseInSlices(source, reader);
  const shown = reader.result();
  return { ...shown, html: sanitize(shown.html, GATE), isCut: isCut || shown.isCut };
}

interface Frame extends SeenElement {
  readonly written: boolean;
  readonly href: string | undefined;
  readonly isList: boolean;
  /** If it sets the direction of its content. */
  readonly direction: Direction | null;
  linkText: string;
}

const MAX_SHOWN = 300;
/** As browsers put around `q`. */
const QUOTE: readonly Piece[] = [{ text: '"', isMark: false }];
const NONE = { isList: false, direction: null } as const;

class MailReader implements TagHandler {
  readonly #rules: StyleRules;
  readonly #sink = new MailSink();
  readonly #lists = new ListNumbers();
  readonly #frames: Frame[] = [];
  readonly #found = {
    ...{ hiddenChars: 0, smallChars: 0, faintChars: 0 },
    ...{ remotePictures: 0, misleadingLinks: 0, movesText: false, invisibleMarks: 0, lookAlikeHosts: 0 },
  };

  constructor(rules: StyleRules) {
    this.#rules = rules;
  }

  get openTags(): number {
    return this.#frames.length;
  }

  result(): ShownMail {
    this.#lists.close();
    return { ...this.#sink.result(), ...this.#found, isCut: this.#sink.isFull };
  }

  onopentag(name: string, attributes: Record<string, string>): void {
    const seen = seeElement(this.#rules, this.#frames, name, attributes);
    const isDropped = seen.dropped && this.#frames.at(-1)?.dropped !== true;
    if (isDropped) this.#sink.mark(`<${visible(name)}> left out`);
    const written = !seen.dropped && !seen.hidden && this.#sink.open(name);
    if (seen.struck && !seen.dropped) this.#markStruck(name, 'struck:');
    const effects = seen.dropped ? NONE : this.#enter(name, attributes, seen.hidden);
    this.#frames.push({
      ...seen,
      written,
      href: name === 'a' ? attributes['href'] : undefined,
      ...effects,
      linkText: '',
    });
  }

  ontext(text: string): void {
    const frame = this.#frames.at(-1) ?? { ...OUTERMOST, name: '' };
    if (frame.dropped) return;
    const isPre = this.#frames.some(({ name }) => name === 'pre');
    const shown = isPre ? text : text.replaceAll(/[ \t\n\r\f]+/g, ' ');
    const pieces = mailPieces(shown, { lines: isPre, max: MAX_HTML_CHARS });
    const { invisibleMarks, lookAlikeHosts } = marksIn(pieces);
    this.#found.invisibleMarks += invisibleMarks;
    this.#found.lookAlikeHosts += lookAlikeHosts;
    const sight: Sight = frame.hidden ? 'hidden' : shown.trim() === '' ? 'seen' : sightOf(frame.look);
    if (sight === 'seen') this.#sink.write(pieces);
    else {
      this.#found[`${sight}Chars`] += shown.trim().length;
      this.#sink.write([mark(`${sight} text:`), ...pieces, mark(`end of ${sight} text`)]);
    }
    this.#frames.findLast(({ direction }) => direction !== null)?.direction?.read(shown);
    const link = this.#frames.findLast(({ href }) => href !== undefined);
    if (link && link.linkText.length < MAX_SHOWN) link.linkText += shown.slice(0, MAX_SHOWN);
  }

  onclosetag(): void {
    const frame = this.#frames.pop();
    if (!frame) return;
    if (frame.direction?.end() === true) this.#found.movesText = true;
    if (frame.isList) this.#lists.close();
    if (frame.name === 'q' && !frame.dropped) this.#sink.write(QUOTE);
    if (frame.struck && !frame.dropped) this.#markStruck(frame.name, 'end of struck');
    if (frame.written) this.#sink.close(frame.name);
    if (frame.href !== undefined) this.#sink.mark(this.#describeLink(frame.href, frame.linkText));
  }

  #enter(name: string, attributes: Attributes, isHidden: boolean): Pick<Frame, 'isList' | 'direction'> {
    // Items that are not displayed are not counted.
    if (name === 'li' && !isHidden) this.#lists.item(attributes, this.#sink.reserve());
    this.#describe(name, attributes);
    return {
      isList: this.#lists.open(name, attributes),
      direction: directionOf(name, attributes, () => this.#sink.reserve()),
    };
  }

  /** The page itself shows strikethrough by elements, but not by styles. */
  #markStruck(name: string, text: string): void {
    if (STRIKING.has(name)) this.#sink.markInText(text);
    else this.#sink.mark(text);
  }

  /** Writes what an element does besides containing text. */
  #describe(name: string, attributes: Attributes): void {
    if (name === 'br' || name === 'hr') this.#sink.line(name);
    const { moves, turnsRound, writes } = effectsOf(name, attributes);
    if (moves) this.#found.movesText = true;
    if (turnsRound) this.#sink.mark(TURNED_ROUND);
    for (const declaration of writes) this.#sink.mark(`its style writes here: ${shortened(declaration)}`);
    const { title = '' } = attributes;
    if (title.trim() !== '') this.#sink.mark(`shown when pointed at: ${shortened(title)}`);
    if (name === 'q') this.#sink.write(QUOTE);
    const remote = remoteSource(name, attributes);
    if (remote !== null) this.#found.remotePictures += 1;
    if (remote !== null || name === 'img') this.#sink.mark(describePicture(remote, attributes));
  }

  #describeLink(href: string, text: string): string {
    const link = linkOf(href);
    if (link === null) return `link that cannot be followed: ${shortened(href)}`;
    if (link.host === null) return `link: ${shortened(link.href)}`;
    const isMisleading = namesOtherHost(text, link.host);
    if (isMisleading) this.#found.misleadingLinks += 1;
    if (lookAtDomain(link.host.replace(/:\d+$/, '')).warning !== null) this.#found.lookAlikeHosts += 1;
    const other = isMisleading ? ', which is not the host its text names' : '';
    return `link to ${describeHost(link.host)}${other}: ${shortened(link.href)}`;
  }
}

const STRIKING: ReadonlySet<string> = new Set(['s', 'strike', 'del']);

const shortened = (text: string): string =>
  visible(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

/** Host and port in ASCII, the Unicode form, and a warning about it. */
function describeHost(host: string): string {
  const { ascii, unicode, warning } = lookAtDomain(host.replace(/:\d+$/, ''));
  const reads =
    unicode === ascii ? '' : ` (written ${visible(unicode)}${warning === null ? '' : `; ${warning}`})`;
  return `${host}${reads}`;
}

function describePicture(remote: string | null, { src = '', alt = '' }: Attributes): string {
  const words = alt.trim() === '' ? '' : `, instead of it: ${shortened(alt)}`;
  if (remote !== null) {
    const url = URL.parse(remote.trim(), 'https://unknown.invalid');
    return `picture not loaded, from ${url === null ? shortened(remote) : describeHost(url.host)}${words}`;
  }
  return `${/^cid:/i.test(src) ? 'attached picture' : 'picture'}${words}`;
}

/** Effects of style and attributes on text other than hiding it: moved, covered, reversed, or added by the style. */
interface Effects {
  readonly moves: boolean;
  readonly turnsRound: boolean;
  /** Declarations that add text. */
  readonly writes: readonly string[];
}

const MOVES =
  /^(?:position|transform|float|order|direction|unicode-bidi|translate|rotate|scale|writing-mode|(?:row|column|flex)-?[a-z]*|grid[a-z-]*)$/;
const WRITES =
  /^(?:content|quotes|list-style(?:-type|-image)?|counter-[a-z]+|text-emphasis(?:-style)?|hyphenate-character|text-overflow)$/;
const WRITES_NOTHING = /^(?:none|auto|disc|circle|square|normal|inherit|initial|unset|clip|ellipsis)$/;
const OVERRIDES = /^(?:isolate-)?(?:bidi-)?override/;

/** `tfoot` moves text because it is shown below the table wherever it is written. */
function effectsOf(name: string, { style = '' }: Attributes): Effects {
  const declarations = declarationsIn(style);
  const turnsRound =
    name === 'bdo' ||
    declarations.some(({ property, value }) => property === 'unicode-bidi' && OVERRIDES.test(value));
  const writes = declarations.filter(
    ({ property, value }) => WRITES.test(property) && !WRITES_NOTHING.test(value),
  );
  const moves =
    isTooLong(style) ||
    declarations.some(
      ({ property, value }) =>
        MOVES.test(property) || (property.startsWith('margin') && /-\.?\d/.test(value)),
    );
  return {
    moves: moves || turnsRound || writes.length > 0 || name === 'tfoot',
    turnsRound,
    writes: writes.map(({ property, source }) => `${property}: ${source}`),
  };
}

const TURNED_ROUND = 'readers see the text that follows turned round';

const FROM_THE_RIGHT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/gu;

/** The text in an element that sets its direction. */
class Direction {
  readonly #mark: ((words: Words) => void) | null;
  #hasText = false;
  /** Right-to-left letters minus all others. */
  #balance = 0;

  /** `mark` writes at the beginning of a right-to-left element; null for other directions. */
  constructor(mark: ((words: Words) => void) | null) {
    this.#mark = mark;
  }

  read(text: string): void {
    if (this.#mark === null) return;
    this.#hasText ||= text.trim() !== '';
    const fromTheRight = text.match(FROM_THE_RIGHT)?.length ?? 0;
    this.#balance += 2 * fromTheRight - (text.match(/\p{L}/gu)?.length ?? 0);
  }

  /** Marks text that readers see reversed, such as numbers in a right-to-left element without such letters; true then. */
  end(): boolean {
    if (this.#mark === null || !this.#hasText || this.#balance > 0) return false;
    this.#mark(markWords(TURNED_ROUND));
    return true;
  }
}

/** Null for an element that sets none; `bdo` is marked at once. `reserve` takes a place for a mark. */
function directionOf(
  name: string,
  { dir, style = '' }: Attributes,
  reserve: () => (words: Words) => void,
): Direction | null {
  const styled = declarationsIn(style).findLast(({ property }) => property === 'direction');
  const direction = styled?.value ?? dir?.trim().toLowerCase();
  if (name === 'bdo' || (name === 'bdi' && direction === undefined)) return new Direction(null);
  if (direction === undefined) return null;
  return new Direction(/^rtl\b/.test(direction) ? reserve() : null);
}
