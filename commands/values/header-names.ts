/** Names of header fields that a sender may add (RFC 5322 3.6.8): what tells something to readers, and orders no relay about. */
import { z } from 'zod';

/** Fields that are standard: what routes, dates or signs the message is not among them. */
const STANDARD =
  /^(?:list-(?:id|help|archive|owner|post|subscribe|unsubscribe|unsubscribe-post)|importance|priority|sensitivity|keywords|organization|auto-submitted|precedence)$/i;
const CUSTOM = /^x-[a-z0-9-]{1,60}$/i;
/** Relays read their orders from these, recipients and all. */
const ORDERS =
  /^x-(?:smtpapi|mc-|mailgun-|mailjet-|mj-|ses-|pm-|postmark-|sparkpost-|sg-|bcc|original-|envelope-|rcpt-|forward|mailbox-gateway)/i;

export const isStandardHeader = (name: string): boolean => STANDARD.test(name);

/** An X- field that an organisation may allow; what relays take for orders is none, whoever names it. */
export const isCustomHeader = (name: string): boolean => CUSTOM.test(name) && !ORDERS.test(name);

/** In lower case. */
export const CustomHeaderName = z
  .string()
  .refine(
    isCustomHeader,
    'Not an X- field that can be allowed: mail relays act on this one, or it is not a field name.',
  )
  .transform((name) => name.toLowerCase());

/** The names that neither a standard nor `allowed` (in lower case) lets go out. */
export const unlistedHeaders = (names: readonly string[], allowed: readonly string[]): readonly string[] =>
  names.filter(
    (name) => !isStandardHeader(name) && !(isCustomHeader(name) && allowed.includes(name.toLowerCase())),
  );
