/** Addresses as callers write them and as they are sent (RFC 5321 4.1.2, RFC 5890, RFC 6531). */
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import type { SkippedRecipient } from '../operations/draft-shape.ts';
import type { Address } from '../mail/message.ts';
import { asHeaderText, headerText } from '../values/header-fields.ts';

/** RFC 5321 4.5.3.1, in octets. */
const MAX_LOCAL_OCTETS = 64;
const MAX_DOMAIN_OCTETS = 253;
const MAX_NAME_CHARS = 200;
const MAX_EMAIL_CHARS = 320;

/**
 * A dot-atom (RFC 5322 3.2.3), beyond ASCII as in RFC 6532. Quoted local parts are refused, because they are
 * not in use. `%` and `!` are refused, because relays read `user%other.example` and `other.example!user` as
 * an address elsewhere (RFC 5321 3.6.1 and appendix C).
 */
const ATOM = String.raw`[A-Za-z0-9#$&'*+\-/=?^_\x60{|}~]|[^\x00-\x7f\p{Cc}\p{Cf}\p{Z}\p{Cs}\p{Co}\p{Cn}]`;
const LOCAL_PART = new RegExp(`^(?:${ATOM})+(?:\\.(?:${ATOM})+)*$`, 'u');
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const DOMAIN = new RegExp(`^(?:${LABEL}\\.)*${LABEL}$`);
/** Dots and label characters. The conversion would decode anything else before it is tested. */
const INTERNATIONAL_DOMAIN = /^(?:[a-z0-9.-]|[^\x00-\x7f])+$/u;

/** The domain in ASCII and lower case; null when it is not a domain. Address literals are not accepted. */
export function wireDomain(domain: string): string | null {
  const lower = domain.toLowerCase();
  const isAscii = DOMAIN.test(lower);
  if (!isAscii && !INTERNATIONAL_DOMAIN.test(lower)) return null;
  const ascii = isAscii ? lower : domainToASCII(lower);
  const isNumber = /^(?:\d+|0x[0-9a-f]*)$/.test(ascii.slice(ascii.lastIndexOf('.') + 1));
  return DOMAIN.test(ascii) && !isNumber && ascii.length <= MAX_DOMAIN_OCTETS ? ascii : null;
}

/** The address with its domain in ASCII; null when the gateway would not send to it. */
export function wireAddress(email: string): string | null {
  const at = email.lastIndexOf('@');
  const local = email.slice(0, Math.max(0, at));
  const domain = wireDomain(email.slice(at + 1));
  // Software that normalizes (RFC 8265) reads full-width forms as the plain ones.
  const isPlain = LOCAL_PART.test(local) && !/[%!@]/.test(local.normalize('NFKC'));
  if (domain === null || !isPlain || Buffer.byteLength(local) > MAX_LOCAL_OCTETS) return null;
  return `${local}@${domain}`;
}

/** Only servers with SMTPUTF8 (RFC 6531) accept an address with a non-ASCII local part. */
export const needsSmtpUtf8 = (email: string): boolean =>
  /[^\x00-\x7f]/.test(email.slice(0, email.lastIndexOf('@')));

/** True for two spellings of one address, as far as that is known outside its own server. */
export const sameAddress = (a: string, b: string): boolean => addressKey(a) === addressKey(b);
export const addressKey = (email: string): string =>
  (wireAddress(email) ?? email).toLowerCase().normalize('NFC');

const Email = z
  .string()
  .max(MAX_EMAIL_CHARS)
  .refine(
    (email) => wireAddress(email) !== null,
    'Not an e-mail address that mail can be sent to; % and ! may not stand before the @.',
  );

const AddressObject = z.strictObject({
  name: headerText(MAX_NAME_CHARS).nullable().optional(),
  email: Email,
});

/** `{name?, email}`, or the bare address. */
export const AddressInput = z
  .union([Email, AddressObject])
  .describe('{"name", "email"} or the bare address.');
export type AddressInput = z.output<typeof AddressInput>;

export function addressOf(input: AddressInput): Address {
  if (typeof input === 'string') return { name: null, email: input };
  const name = input.name?.trim() ?? '';
  return { name: name === '' ? null : name, email: input.email };
}

const UNUSABLE = 'It is no address that mail servers agree on how to read; nothing is sent there.';

/** The received addresses that cannot be sent to, each once, cut to the length of an address. */
export const unsendable = (addresses: readonly Address[]): readonly SkippedRecipient[] =>
  [...new Set(addresses.map(({ email }) => email))]
    .filter((email) => wireAddress(email) === null)
    .map((address) => ({ address: address.slice(0, MAX_EMAIL_CHARS), reason: UNUSABLE }));

/**
 * The received addresses that can be sent to, each once, with names valid for a header. `except` = already
 * known.
 */
export function sendable(addresses: readonly Address[], except: readonly Address[] = []): readonly Address[] {
  const known = new Set(except.map(({ email }) => addressKey(email)));
  return addresses.flatMap(({ name, email }) => {
    const key = addressKey(email);
    if (wireAddress(email) === null || known.has(key)) return [];
    known.add(key);
    const clean = name === null ? '' : asHeaderText(name, MAX_NAME_CHARS);
    return [{ name: clean === '' ? null : clean, email }];
  });
}
