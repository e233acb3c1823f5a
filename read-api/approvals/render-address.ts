/** Addresses as a person has to see them before anything goes out: the real one first, and what is odd about it. */
import type { Address } from '../../commands/kernel/mail-port.ts';
import type { Fact } from './render-document.ts';
import { lookAtDomain, mixesScripts } from './render-look-alikes.ts';

const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1);
const ADDRESS_LIKE = /[^\s<>"'(),;:@]+@[^\s<>"'(),;:@]+/gu;

/** Outside of the organisation's own domains (in their ASCII form). */
export const isOutside = (email: string, ownDomains: ReadonlySet<string>): boolean =>
  !ownDomains.has(lookAtDomain(domainOf(email)).ascii);

/** `ownDomains`: of the organisation's mailboxes, ASCII. `outside`: say so of those beyond them. */
export function addressFact(
  { name, email }: Address,
  { ownDomains, outside }: { readonly ownDomains: ReadonlySet<string>; readonly outside: boolean },
): Fact {
  const { ascii, unicode, warning } = lookAtDomain(domainOf(email), ownDomains);
  const local = email.slice(0, email.lastIndexOf('@') + 1);
  const readsAs = unicode === ascii ? [] : [`reads as ${local}${unicode}`];
  const isStranger = outside && !ownDomains.has(ascii);
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
