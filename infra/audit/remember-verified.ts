/** What a verification found of each trail, remembered for callers and operators. */
import type { Sql } from '../../commands/ports/ports.ts';
import type { BrokenReason } from '../../commands/audit/seal-events.ts';
import type { Difference, VerifiedLog } from './verify-log.ts';

/**
 * Replaces what was remembered of these trails, except for a finding that another verification remembered since this one began:
 * this one may not have seen it. A finding about the log replaces also that.
 */
export async function rememberVerified(sql: Sql, { began, trails }: VerifiedLog): Promise<void> {
  const all = [...trails];
  await sql.query(
    `insert into vault.audit_verified as v (trail, epoch, size, verified_at, failed_size, reason)
     select trail, epoch, size, now(), failed_size, reason
       from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) as w(trail, epoch, size, failed_size, reason)
     on conflict (trail) do update set epoch = excluded.epoch, size = excluded.size, verified_at = excluded.verified_at,
       failed_size = excluded.failed_size, reason = excluded.reason
       where excluded.reason <> 'read_model' or v.reason is null or v.verified_at < $6`,
    [
      all.map(([trail]) => trail),
      all.map(([, { epoch }]) => epoch),
      all.map(([, { size }]) => size),
      all.map(([, { difference }]) => difference?.size ?? null),
      all.map(([, { difference }]) => difference?.reason ?? null),
      began,
    ],
  );
}

/** What the last verification found of the log in this epoch; null for a read model, which may be mended since. */
export async function foundIn(sql: Sql, trail: string, epoch: number): Promise<Difference | null> {
  const [row] = await sql.query<{ size: string; reason: BrokenReason }>(
    `select failed_size as size, reason from vault.audit_verified where trail = $1 and epoch = $2 and reason <> 'read_model'`,
    [trail, epoch],
  );
  return row ? { size: Number(row.size), reason: row.reason } : null;
}
