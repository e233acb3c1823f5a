/** Adds a person to an existing organisation, on the machine itself. Not a capability: callers use invites. */
import { account, emailKey, emailReservation, registerAccount, reserveEmail } from '../accounts/account.ts';
import { memberOf } from '../accounts/credentials.ts';
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import type { Role } from '../values/scopes.ts';
import { addMember, organisation } from './organisation.ts';

export type PersonPorts = Pick<
  Ports,
  'events' | 'ids' | 'clock' | 'directory' | 'personal' | 'links' | 'server'
>;

interface NewPerson {
  readonly orgId: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
}

/**
 * Each step adds nothing when it was done before, so an interrupted command can be repeated. Resolves with the id when the
 * directory contains the person. Throws `conflict` for a member with another role.
 */
export async function addPerson(
  ports: PersonPorts,
  author: Author,
  { orgId, email, name, role }: NewPerson,
): Promise<string> {
  const key = emailKey(ports, email);
  const fresh = ports.ids.newId('usr');
  const { state } = await decideAndAppend(ports, author, emailReservation, {
    id: key,
    decide: (current) => reserveEmail(current, current.ownerId ?? fresh),
  });
  const userId = state.ownerId ?? fresh;
  const sealed = {
    email: await ports.personal.seal(userId, email.trim()),
    name: await ports.personal.seal(userId, name),
    isVerified: true,
  };
  await decideAndAppend(ports, author, account, {
    id: userId,
    decide: (current) => (current.status === 'none' ? registerAccount(current, sealed) : []),
  });
  const { position } = await decideAndAppend(ports, author, organisation, {
    id: orgId,
    decide: (current) => addMember(current, { userId, role, by: 'operator' }),
  });
  if (position !== null) await ports.directory.waitFor(position);
  return userId;
}

/** The id of an address. Throws `not_found`. */
export async function personWith(ports: PersonPorts, email: string): Promise<string> {
  const { state } = await loadAggregate(ports.events, emailReservation, emailKey(ports, email));
  if (state.ownerId !== null) return state.ownerId;
  throw new GatewayError('not_found', `No person has the address ${email} here.`);
}

/** The link to set a password; the token is behind the #, so that no server and no log receives it. */
export async function passwordLink(
  { links, server, directory }: PersonPorts,
  userId: string,
): Promise<string> {
  const orgId = memberOf(directory.state, userId)?.orgId ?? null;
  return `${server.baseUrl}/console#reset=${await links.make('password', userId, orgId)}`;
}
