/** A person's account. Name and address are sealed: erasing the person's key erases the person, but not the trail. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact } from '../values/event.ts';
import { sealedText } from '../values/event-fields.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';

const AccountRegistered = defineEvent({
  type: 'AccountRegistered',
  summary: 'An account was created for a person.',
  data: z.object({ email: sealedText, name: sealedText }),
  webhook: null,
});

export const EmailReserved = defineEvent({
  type: 'EmailReserved',
  summary: 'An e-mail address was reserved for one account; the stream is named by an HMAC of the address.',
  data: z.object({ owner_id: z.string() }),
  webhook: null,
});

const PasswordSet = defineEvent({
  type: 'PasswordSet',
  summary: 'A person got a new password. Its hash is stored in the vault, never in an event.',
  data: z.object({ by: z.enum(['setup', 'link', 'change']) }),
  webhook: null,
});

export const accountEvents = [AccountRegistered, PasswordSet] as const;
type AccountEvent = (typeof accountEvents)[number];

export interface AccountState {
  readonly registered: boolean;
}

export const account: Aggregate<AccountState, AccountEvent> = {
  category: 'account',
  catalogue: catalogueOf(accountEvents),
  initial: { registered: false },
  evolve: () => ({ registered: true }),
};

/** Refuses when the account exists already. */
export function registerAccount(
  state: AccountState,
  command: { readonly email: Sealed; readonly name: Sealed },
): readonly Fact<AccountEvent>[] {
  if (state.registered) throw new GatewayError('conflict', 'This account exists already.');
  return [{ type: 'AccountRegistered', data: command }];
}

/** Throws `not_found` for an account that was not registered. */
export function setPassword(
  state: AccountState,
  by: 'setup' | 'link' | 'change',
): readonly Fact<AccountEvent>[] {
  if (!state.registered) throw notFound('account');
  return [{ type: 'PasswordSet', data: { by } }];
}

/** The name of the reservation of an address, in every spelling of it. */
export const emailKey = ({ ids }: Pick<Ports, 'ids'>, email: string): string =>
  ids.reservationName(email.trim().toLowerCase());

interface EmailReservation {
  readonly ownerId: string | null;
}

export const emailReservation: Aggregate<EmailReservation, typeof EmailReserved> = {
  category: 'uniqueEmail',
  catalogue: catalogueOf([EmailReserved]),
  initial: { ownerId: null },
  evolve: (_, fact) => ({ ownerId: fact.data.owner_id }),
};

/** The same owner may resume; any other is refused. */
export function reserveEmail(
  state: EmailReservation,
  ownerId: string,
): readonly Fact<typeof EmailReserved>[] {
  if (state.ownerId === ownerId) return [];
  if (state.ownerId !== null)
    throw new GatewayError('conflict', 'This e-mail address has an account already.');
  return [{ type: 'EmailReserved', data: { owner_id: ownerId } }];
}
