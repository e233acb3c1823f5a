/** Addresses as a person has to see them before anything goes out: the real one first, and what is odd about it. */
import type { Address } from '../../commands/kernel/mail-port.ts';
import type { Policy } from '../../commands/kernel/policy-document.ts';
import { isInternal } from '../../commands/policy/decide-for-caller.ts';
import type { Fact } from './render-document.ts';
import { lookAtDomain, mixesScripts } from './render-look-alikes.ts';

const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1);
const ADDRESS_LIKE = /[^\s<>"'(),;:@]+@[^\s<>"'(),;:@]+/gu;

/** Domains as the organisation sees them, in their ASCII form. */
export interface Domains {
  /** The policy names it as inside. */
  isInside(domain: string): boolean;
  /** Those that no other may be mistaken for: internal ones, and the mailbox's own. */
  readonly known: ReadonlySet<string>;
}

export const domainsOf = (policy: Pick<Policy, 'internal_domains'>, mailboxAddress: string): Domains => ({
  isInside: (domain) => isInternal(policy, domain),
  known: new Set([
    ...policy.internal_domains.map((pattern) => pattern.replace(/^\*\./, '')),
    lookAtDomain(domainOf(mailboxAddress)).ascii,
  ]),
});

export const isOutside = (email: string, domains: Domains): boolean =>
  !domains.isInside(lookAtDomain(domainOf(email)).ascii);

/** `outside`: say so of an address that is. */
export function addressFact(
  { name, email }: Address,
  { domains, outside }: { readonly domains: Domains; readonly outside: boolean },
): Fact {
  const { ascii, unicode, warning } = lookAtDomain(domainOf(email), domains.known);
  const local = email.slice(0, email.lastIndexOf('@') + 1);
  const readsAs = unicode === ascii ? [] : [`reads as ${local}${unicode}`];
  const isStranger = outside && !domains.isInside(ascii);
  return {
    text: `${local}${ascii}`,
    notes: [
      ...(name === null ? [] : [`called “${name}”`]),
      ...readsAs,
      ...(isStranger ? ['outside the organisation'] : []),
    ],
    warnings: [
      ...(warning === null ? [] : [warning]),
      ...(mixesScripts(local) ? ['letters of several alphabets in the address'] : []),
      ...(showsOther(name, email) ? ['the name shows another address'] : []),
    ],
  };
}

function showsOther(name: string | null, email: string): boolean {
  const named = (name ?? '').normalize('NFKC').slice(0, 1_000).matchAll(ADDRESS_LIKE);
  return [...named].some(([other]) => bare(other) !== bare(email));
}

const bare = (email: string): string => {
  const local = email.slice(0, email.lastIndexOf('@')).toLowerCase();
  return `${local}@${lookAtDomain(domainOf(email).replace(/[.\]}>]+$/, '')).ascii}`;
};
