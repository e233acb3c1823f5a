/**
 * The searchable texts of a message: folded as `matches` folds them, in sections of one column. Control characters, which
 * no fetched text contains, separate sections and elements.
 */
import { cleanText, foldText } from '../../commands/mail/fold-text.ts';
import type { Address, FetchedMessage } from '../../commands/mail/message.ts';
import { domainOf } from '../../commands/mail/matches.ts';

export const SECTION_END = '\u001e';
/** Before every element: a section without elements is empty, one with an empty text is not. */
export const ELEMENT = '\n';

/** Sections of `words`, counted from 1 as `split_part` does. */
export const SECTIONS = {
  subject: 1,
  from: 2,
  to: 3,
  cc: 4,
  /** Bcc and Reply-To. */
  others: 5,
  attachments: 6,
  /** Domains of From in lower case, each between two `ELEMENT`s. */
  fromDomains: 7,
} as const;
export type Section = keyof typeof SECTIONS;

type Searched = Pick<FetchedMessage, 'subject' | 'from' | 'to' | 'cc' | 'bcc' | 'replyTo' | 'attachments'>;

/** The `words` of a message. */
export function foldedWords({ subject, from, to, cc, bcc, replyTo, attachments }: Searched): string {
  const names = attachments.flatMap(({ filename }) => (filename === null ? [] : [filename]));
  const domains = from.map(({ email }) => ELEMENT + cleanText(domainOf(email)));
  return [
    elements(subject === null ? [] : [subject]),
    people(from),
    people(to),
    people(cc),
    people([...bcc, ...replyTo]),
    elements(names),
    domains.length === 0 ? '' : domains.join('') + ELEMENT,
  ].join(SECTION_END);
}

const elements = (texts: readonly string[]): string =>
  texts.map((text) => ELEMENT + foldText(cleanText(text))).join('');

/** Name and address of each: the third part of the From section is the first sender's address. */
const people = (list: readonly Address[]): string =>
  elements(list.flatMap(({ name, email }) => [name ?? '', email]));
