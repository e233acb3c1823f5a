/**
 * Names of header fields that a sender may add (RFC 5322 3.6.8): those that inform readers and do not control
 * relays.
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
