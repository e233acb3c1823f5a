/**
 * The `SessionUse` port. Uses are noted as those of tokens are (`token-use.ts`): exactly in this process, to the minute in
 * `work.token_use` for the others. Only a session this process has not served for half an hour costs a look there.
 */
import { SESSION_IDLE_MS } from '../../commands/accounts/session.ts';
import type { Clock, Sql } from '../../commands/ports/ports.ts';
import type { SessionUse } from '../../commands/ports/sign-in-port.ts';
import { listTokenUses } from '../../projections/token-use.ts';
import { BoundedMap } from '../platform/bounded-map.ts';

/** Sessions whose last use is remembered; a forgotten one is looked up. */
const REMEMBERED = 10_000;

export function createSessionUse(sql: Sql, clock: Clock): SessionUse {
  const usedAt = new BoundedMap<string, number>(REMEMBERED);
  return {
    isIdle: async ({ id, startedAt }) => {
      const now = clock.now().getTime();
      let last = usedAt.get(id) ?? Date.parse(startedAt);
      if (now - last >= SESSION_IDLE_MS) {
        last = Math.max(last, (await listTokenUses(sql, [id])).get(id)?.getTime() ?? 0);
      }
      if (now - last >= SESSION_IDLE_MS) return true;
      usedAt.set(id, now);
      return false;
    },
  };
}
