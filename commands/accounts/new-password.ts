/** The rule for a new password beyond its length, in every route that sets one. */
import type { Ports } from '../ports/ports.ts';
import type { DirectoryState } from '../ports/directory.ts';
import type { PasswordWeakness } from '../ports/sign-in-port.ts';
import { type GatewayError, invalidField } from '../values/errors.ts';
import { membershipsOf } from '../kernel/membership.ts';

/** What everybody would try first at this service. */
const SERVICE = ['mailbox gateway', 'mailbox', 'gateway'];

const WHY: Readonly<Record<PasswordWeakness, string>> = {
  known: 'It is a known password, or close to one.',
  personal: 'It is made of your name, address, organisation or this service.',
  repeated: 'It repeats itself.',
  sequence: 'It follows an order, such as a row of keys, a count or a date.',
  short_words: 'It is made of too little.',
};

/**
 * Refuses a password that is easily guessed: `invalid_request` at `path`, with the reason. `about` is what a guesser tries
 * first: address, name and organisation of the person.
 */
export async function refuseWeakPassword(
  { secrets, server }: Pick<Ports, 'secrets' | 'server'>,
  password: string,
  { path, about }: { readonly path: string; readonly about: readonly string[] },
): Promise<void> {
  const host = new URL(server.baseUrl).hostname;
  const weakness = await secrets.weaknessOf(password, [...about, host, ...SERVICE]);
  if (weakness !== null) throw tooWeak(path, weakness);
}

const tooWeak = (path: string, weakness: PasswordWeakness): GatewayError =>
  invalidField(
    path,
    `This password is too easy to guess. ${WHY[weakness]} Use four or more words that have nothing to do with you.`,
    'weak_password',
  );

/** What a guesser knows about a person who has an account. */
export function aboutPerson(state: DirectoryState, userId: string): readonly string[] {
  const person = state.people.get(userId);
  const names = membershipsOf(state, userId).map(({ orgId }) => state.organisations.get(orgId)?.name ?? '');
  return person === undefined ? [] : [person.email, person.name, ...names];
}
