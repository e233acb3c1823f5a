/** The `Ids` port: random ids from time and chance, derived ones under the vault's id key. */
import { createHmac, randomFillSync, randomUUID } from 'node:crypto';
import { derivedId, uuidToId, uuidV7 } from '../../commands/values/ids.ts';
import type { KeyObject } from 'node:crypto';
import type { Clock, Ids } from '../../commands/ports/ports.ts';

/** Asking for many random bytes takes hardly longer than asking for a few. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

/** Random bytes that are given out once. */
function randomBytes(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = Buffer.from(pool.subarray(used, used + count));
  pool.fill(0, used, used + count);
  used += count;
  return bytes;
}

/** Ids whose times come from `clock`. */
export function createIds(idKey: KeyObject, clock: Clock): Ids {
  return {
    newId: (prefix) => uuidToId(prefix, uuidV7(clock.now().getTime(), randomBytes(10))),
    newUuid: () => randomUUID(),
    newNonce: () => randomBytes(16).toString('hex'),
    newSalt: () => randomBytes(16).toString('base64url'),
    idForKey: (prefix, orgId, principalId, idempotencyKey) =>
      derivedId(prefix, idKey, [orgId, principalId, idempotencyKey]),
    // The leading word separates these from derived ids, which use the same key.
    reservationName: (text) => createHmac('sha256', idKey).update(`reservation\u0000${text}`).digest('hex'),
  };
}
