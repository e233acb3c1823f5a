/**
 * Header fields that a sender may add (RFC 5322 3.6.8): names that inform readers and do not control relays,
 * and text that does not end the line and is not decoded as something else.
 */
import { z } from 'zod';

/** Standard fields, except those that route, date or sign the message. */
const STANDARD =
  /^(?:list-(?:id|help|archive|owner|post|subscribe|unsubscribe|unsubscribe-post)|importance|priority|sensitivity|keywords|organization|auto-submitted|precedence)$/i;
const CUSTOM = /^x-[a-z0-9-]{1,60}$/i;
/** Relays take instructions from these, including recipients. */
const ORDERS =
  /^x-(?:smtpapi|mc-|mailgun-|mailjet-|mj-|ses-|pm-|postmark-|sparkpost-|sg-|bcc|original-|envelope-|rcpt-|forward|mailbox-gateway)/i;

export const isStandardHeader = (name: string): boolean => STANDARD.test(name);

/** An X- field that an organisation may allow; fields that instruct relays are never allowed. */
export const isCustomHeader = (name: string): boolean => CUSTOM.test(name) && !ORDERS.test(name);

/** Converted to lower case. */
export const CustomHeaderName = z
  .string()
  .refine(
    isCustomHeader,
    'Not an X- field that can be allowed: mail relays act on this one, or it is not a field name.',
  )
  .transform((name) => name.toLowerCase());

/** The names that are neither standard nor in `allowed` (in lower case). */
export const unlistedHeaders = (names: readonly string[], allowed: readonly string[]): readonly string[] =>
  names.filter(
    (name) => !isStandardHeader(name) && !(isCustomHeader(name) && allowed.includes(name.toLowerCase())),
  );

/** All control characters, and everything else that some reader treats as the end of a line. */
const ENDS_A_LINE = /[\p{Cc}\p{Zl}\p{Zp}]/u;
/** RFC 2047: readers decode this wherever it occurs, so the hidden text would pass every other test. */
const ENCODED_WORD = /=\?[^?]*\?[^?]?\?/;
/** RFC 5322 2.1.1 allows 998 characters a line; a text without a space cannot be folded. */
export const MAX_HEADER_CHARS = 900;

export const isHeaderText = (text: string): boolean =>
  text.isWellFormed() && !ENDS_A_LINE.test(text) && !ENCODED_WORD.test(text);

/** One line of at most `most` characters, without controls, line ends and encoded words; may be empty. */
export const headerText = (most: number) =>
  z
    .string()
    .max(most)
    .refine(isHeaderText, 'Control characters, line ends and encoded words (=?…?=) are not allowed here.');

/** Makes a received text valid for a header: forbidden characters become spaces. */
export const asHeaderText = (text: string, most = MAX_HEADER_CHARS): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll('=?', '= ?')
    .slice(0, most)
    // The cut may have split a surrogate pair.
    .replace(/[\ud800-\udbff]$/, '')
    .trim();
