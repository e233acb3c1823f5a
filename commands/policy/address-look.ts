/** What a person must know about an address before anything is sent to it. */
import type { Address } from '../mail/message.ts';
import { foreignLetters, lookAtDomain, mixesScripts } from '../mail/look-alikes.ts';
import type { Policy } from '../values/policy-document.ts';
import { isInternal } from './decide-for-caller.ts';

/** The domains of an organisation, in their ASCII form. */
export interface Domains {
  /** True when the policy names the domain as internal. */
  isInside(domain: string): boolean;
  /** The domains that others must not imitate: internal ones, and the mailbox's own. */
  readonly known: ReadonlySet<string>;
}

export const domainsOf = (policy: Pick<Policy, 'internal_domains'>, mailboxAddress: string): Domains => ({
  isInside: (domain) => isInternal(policy, domain),
  known: new Set([
    ...policy.internal_domains.map((pattern) => pattern.replace(/^\*\./, '')),
    lookAtDomain(domainOf(mailboxAddress)).ascii,
  ]),
});

export interface AddressLook {
  /** The address with its domain in ASCII. */
  readonly email: string;
  /** The address as people read it; null where that is the same. */
  readonly unicode: string | null;
  readonly isOutside: boolean;
  /** Why the address may be mistaken for another one; null = no reason. */
  readonly lookAlike: string | null;
  /** The display name contains another address. */
  readonly isSpoofed: boolean;
}

export function lookAtAddress({ name, email }: Address, domains: Domains): AddressLook {
  const { ascii, unicode, warning } = lookAtDomain(domainOf(email), domains.known);
  const local = email.slice(0, email.lastIndexOf('@') + 1);
  return {
    email: `${local}${ascii}`,
    unicode: unicode === ascii ? null : `${local}${unicode}`,
    isOutside: !domains.isInside(ascii),
    lookAlike:
      warning ??
      (mixesScripts(local) ? `letters of several alphabets in the address${foreignLetters(local)}` : null),
    isSpoofed: showsOther(name, email),
  };
}

const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1);
const ADDRESS_LIKE = /[^\s<>"'(),;:@]+@[^\s<>"'(),;:@]+/gu;

function showsOther(name: string | null, email: string): boolean {
  const named = (name ?? '').normalize('NFKC').slice(0, 1_000).matchAll(ADDRESS_LIKE);
  return [...named].some(([other]) => bare(other) !== bare(email));
}

const bare = (email: string): string => {
  const local = email.slice(0, email.lastIndexOf('@')).toLowerCase();
  return `${local}@${lookAtDomain(domainOf(email).replace(/[.\]}>]+$/, '')).ascii}`;
};
