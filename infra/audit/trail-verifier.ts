/**
 * Verifies all trails once a day and when somebody asks, at most once an hour, and again when a verification broke off; tells the
 * log what was found, and lets nothing be signed over a trail that differs.
 */
import { seal, type SealEvent } from '../../commands/audit/seal-events.ts';
import { decideAndAppend } from '../../commands/kernel/decide-and-append.ts';
import { holdLease } from '../../commands/kernel/hold-lease.ts';
import type { Fact } from '../../commands/values/event.ts';
import { VERSIONED_TABLES } from './read-trails.ts';
import { rememberVerified } from './remember-verified.ts';
import type { Sealer, SealPorts } from './sealer.ts';
import { sealAuthor } from './sign-checkpoint.ts';
import { type VerifiedTrail, verifyLog } from './verify-log.ts';

const LEASE = 'audit-verifier';

/** Began and did not end: the process died, or a store was unavailable. */
const BROKE_OFF = `ended_at < started_at and not exists (select from work.lease where name = '${LEASE}' and until > now())`;

const IS_DUE = `started_at < now() - case when ${BROKE_OFF} then interval '10 minutes'
    when asked_at > started_at then interval '1 hour' else interval '1 day' end`;

/** As text: a date of this process would be rounded. */
const BEGIN = 'update vault.audit_verification set started_at = now() returning started_at::text as began';

/** Requests of before it began are answered by it. One that began since `$1` ends itself. */
const END = `update vault.audit_verification
  set ended_at = now(), asked_at = case when asked_at > started_at then asked_at end
  where started_at <= $1::timestamptz`;

/** Holds while `isDue` does. */
export const VERIFICATION_PROBE = `exists (select from vault.audit_verification where ${IS_DUE})`;

export class TrailVerifier {
  readonly #ports: SealPorts;
  readonly #sealer: Pick<Sealer, 'stop'>;

  constructor(ports: SealPorts, sealer: Pick<Sealer, 'stop'>) {
    this.#ports = ports;
    this.#sealer = sealer;
  }

  /** True when the last one began a day ago, or somebody asked since and it began an hour ago, or it broke off and began ten minutes ago. */
  async isDue(): Promise<boolean> {
    const [row] = await this.#ports.sql.query<{ due: boolean }>(
      `select ${IS_DUE} as due from vault.audit_verification`,
    );
    return row?.due === true;
  }

  /** False when another process verifies. Throws the signal's reason, `store_unavailable`, or the error of the database. */
  async verify(signal: AbortSignal): Promise<boolean> {
    const lease = await holdLease(this.#ports.leases, LEASE);
    if (lease === null) return false;
    try {
      const { sql } = this.#ports;
      const [begun] = await sql.query<{ began: string }>(BEGIN);
      const verified = await verifyLog(this.#ports, signal);
      lease.assertHeld();
      await this.#tell(verified.trails);
      lease.assertHeld();
      await rememberVerified(sql, verified);
      lease.assertHeld();
      await sql.query(END, [begun?.began]);
      return true;
    } finally {
      await lease.release();
    }
  }

  async #tell(trails: ReadonlyMap<string, VerifiedTrail>): Promise<void> {
    for (const [trail, { epoch, difference }] of trails)
      if (difference !== null) await this.#sealer.stop(trail, { epoch, ...difference });
    const agreed = [...trails].filter(([, { difference }]) => difference === null);
    const grown = await this.#grown(agreed.map(([trail]) => trail));
    for (const [trail, { size, root }] of agreed) {
      if (!grown.has(trail)) continue;
      await decideAndAppend(this.#ports, sealAuthor(this.#ports, trail), seal, {
        id: trail,
        decide: (): readonly Fact<SealEvent>[] => [
          { type: 'AuditVerified', data: { size, root: Buffer.from(root).toString('base64') } },
        ],
      });
    }
  }

  /** Those of them with lines since they were verified last, other than what sealing wrote. */
  async #grown(trails: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#ports.sql.query<{ trail: string }>(
      `select w.trail from unnest($1::text[]) as w(trail) left join vault.audit_verified v using (trail)
        where exists (select from ${VERSIONED_TABLES.lines} a
                       where a.trail = w.trail and a.seq > coalesce(v.size, 0) and not a.of_sealing)`,
      [trails],
    );
    return new Set(rows.map(({ trail }) => trail));
  }
}
