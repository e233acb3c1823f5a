/** Addresses as a person has to see them before anything goes out: the real one first, and what is odd about it. */
import type { Address } from '../../commands/mail/message.ts';
import { type Domains, lookAtAddress } from '../../commands/policy/address-look.ts';
import type { Fact } from './render-document.ts';

/** `outside`: say so of an address that is. */
export function addressFact(
  address: Address,
  { domains, outside }: { readonly domains: Domains; readonly outside: boolean },
): Fact {
  const { email, unicode, isOutside, lookAlike, isSpoofed } = lookAtAddress(address, domains);
  return {
    text: email,
    notes: [
      ...(address.name === null ? [] : [`called “${address.name}”`]),
      ...(unicode === null ? [] : [`written ${unicode}`]),
      ...(outside && isOutside ? ['outside the organisation'] : []),
    ],
    warnings: [
      ...(lookAlike === null ? [] : [lookAlike]),
      ...(isSpoofed ? ['the name shows another address'] : []),
    ],
  };
}
