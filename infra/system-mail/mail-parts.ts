/** What the texts of mails are made of: links to this gateway only, names that cannot become links, times. */
import { withoutInvisible } from '../../commands/html/visible-text.ts';

/** An address below that of this gateway; `linkTo` is the only one who makes one. */
export type Link = string & { readonly __link: true };

/** `path` begins with a slash; parts of it that are not ours are encoded by the caller. */
export const linkTo = (baseUrl: string, path: `/${string}`): Link => `${baseUrl}${path}` as Link;

/** A page of the console that reads a one-time token; behind `#`, no server and no log sees it. */
export const tokenLink = (baseUrl: string, page: 'reset' | 'verify' | 'invite', token: string): Link =>
  linkTo(baseUrl, `/console#${page}=${encodeURIComponent(token)}`);

/** One approval, or the list of them. */
export const approvalLink = (baseUrl: string, approvalId?: string): Link =>
  linkTo(
    baseUrl,
    `/console#/approvals${approvalId === undefined ? '' : `/${encodeURIComponent(approvalId)}`}`,
  );

/** One line of any mail program. */
const MOST_NAME_CHARS = 60;

/** Within a word, mail programs make a link of these; their wide forms count as they do in an address (UTS 46). */
const JOINTS = /([.:/@\\\u3002\uff0e\uff61\uff1a\uff0f\uff20\u2024])(?=\S)/gu;

/**
 * A name that people gave, such as that of an organisation: one short line that no mail program makes a link of. A space
 * follows each dot within a word: "example.com" becomes "example. com".
 */
export function plainName(name: string): string {
  const line = withoutInvisible(name)
    .replaceAll(JOINTS, '$1 ')
    .replaceAll(/[\s\p{Z}]+/gu, ' ')
    .trim();
  const characters = Array.from(line);
  if (characters.length === 0) return 'without a name';
  if (characters.length <= MOST_NAME_CHARS) return line;
  return `${characters
    .slice(0, MOST_NAME_CHARS - 1)
    .join('')
    .trim()}…`;
}

/** Such as "22 November 2026 at 23:58 UTC". */
export const momentOf = (at: string): string =>
  `${new Date(at).toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })} UTC`;

/** One of several things a mail tells. */
export interface MailItem {
  readonly title: string;
  readonly lines: readonly string[];
  readonly href: Link | null;
}

/** A mail before it is written as text and as HTML. Every text is plain: nothing in it is markup. */
export interface MailText {
  readonly subject: string;
  /** The first sentence; mail programs show it beside the subject. */
  readonly preheader: string;
  readonly items: readonly MailItem[];
  readonly paragraphs: readonly string[];
  readonly action: { readonly label: string; readonly href: Link } | null;
  /** Why one gets it, and what to do if one did not expect it. */
  readonly footer: string;
  /** Only of mails that one can do without. */
  readonly unsubscribe: Link | null;
}

export const mailText = (
  text: Pick<MailText, 'subject' | 'preheader' | 'footer'> & Partial<MailText>,
): MailText => ({ items: [], paragraphs: [], action: null, unsubscribe: null, ...text });
