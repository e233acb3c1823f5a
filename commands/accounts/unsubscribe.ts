/** Ends the mails about waiting approvals by the link in them (RFC 8058), without signing in. */
import { timingSafeEqual } from 'node:crypto';
import { type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import type { PersonEntry } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import { routeKey } from '../values/ids.ts';
import { account, setNotifications } from './account.ts';

/** Below the address of the gateway, outside `/api/v1`. */
export const UNSUBSCRIBE_PATH = '/unsubscribe' as const;

type Ids = Pick<Ports['ids'], 'reservationName'>;

const ROUTE_KEY_CHARS = 4;
const PROOF_CHARS = 32;
const FORM = /^([0-9a-z]{4})([0-9a-z]{26})([0-9a-f]{32})$/;

const proofOf = (ids: Ids, key: string, userId: string): string =>
  ids.reservationName(`unsubscribe ${key} ${userId}`).slice(0, PROOF_CHARS);

/** The token of a person: route key of the organisation, id, HMAC. It is valid while the account exists. */
export function unsubscribeToken(
  ids: Ids,
  { orgId, userId }: { readonly orgId: string | null; readonly userId: string },
): string {
  const key = orgId === null ? '0'.repeat(ROUTE_KEY_CHARS) : routeKey(orgId);
  return `${key}${userId.slice(userId.indexOf('_') + 1)}${proofOf(ids, key, userId)}`;
}

/** The person of a token; null when it was not made here, or the account is gone. */
export function personOfToken(
  { ids, directory }: Pick<Ports, 'directory'> & { readonly ids: Ids },
  token: string,
): PersonEntry | null {
  const [, key = '', random = '', proof = ''] = FORM.exec(token) ?? [];
  const userId = `usr_${random}`;
  const expected = proofOf(ids, key, userId);
  if (proof.length !== expected.length || !timingSafeEqual(Buffer.from(proof), Buffer.from(expected)))
    return null;
  return directory.state.people.get(userId) ?? null;
}

/** Again it changes nothing. */
export async function unsubscribe(
  ports: Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>,
  author: Author,
  userId: string,
): Promise<void> {
  const { position } = await decideAndAppend(ports, author, account, {
    id: userId,
    decide: (state) => setNotifications(state, 'off', 'unsubscribe'),
  });
  if (position !== null) await ports.directory.waitFor(position);
}
