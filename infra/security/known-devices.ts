/** The `KnownDevices` port over `work.known_device`: when it is lost, the next sign-in of everybody is their first. */
import type { Clock, Sql } from '../../commands/ports/ports.ts';
import type { KnownDevices } from '../../commands/ports/sign-in-port.ts';

const KEPT_MS = 180 * 24 * 60 * 60_000;

export function createKnownDevices({
  sql,
  clock,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
}): KnownDevices {
  return {
    note: async (userId, device) => {
      const now = clock.now();
      await sql.query('delete from work.known_device where seen_at <= $1', [
        new Date(now.getTime() - KEPT_MS),
      ]);
      const [row] = await sql.query<{ is_new: boolean }>(NOTE, [userId, Buffer.from(device, 'hex'), now]);
      return row?.is_new ?? false;
    },
    forget: async (userId) => {
      await sql.query('delete from work.known_device where user_id = $1', [userId]);
    },
  };
}

/** The `earlier` rows are those before this statement. */
const NOTE = `with earlier as (
    select device from work.known_device where user_id = $1
  ), noted as (
    insert into work.known_device (user_id, device, seen_at) values ($1, $2, $3)
    on conflict (user_id, device) do update set seen_at = excluded.seen_at
  )
  select count(*) > 0 and not coalesce(bool_or(device = $2), false) as is_new from earlier`;
