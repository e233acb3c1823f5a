/**
 * `work.mailbox_lease`: one worker per mailbox over all processes. Times are the database's; whether a lease still holds in
 * this process is judged by its monotonic clock, which a pause does not stop.
 */
import type { Sql } from '../../commands/ports/ports.ts';
import type { LeaseTimes } from '../postgres/leases.ts';
import type { Fence } from '../mail-index/folder-mirror.ts';

/** Commits without waiting for the disk: a crash of the database only ends a lease a little early. */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

/** Flushed: no fence is issued twice. */
const TAKE = `
  insert into work.mailbox_lease as held (mailbox_id, run_id, fence, until)
  select mailbox_id, $2, 1, now() + $3 * interval '1 millisecond'
  from unnest($1::text[]) as mailbox_id
  order by mailbox_id
  on conflict (mailbox_id) do update set run_id = excluded.run_id, fence = held.fence + 1, until = excluded.until
  where held.until <= now()
  returning mailbox_id, fence, current_at`;

/** An expired lease is not revived: another process may be about to take it. */
const RENEW = `
  update work.mailbox_lease as held set until = now() + $3 * interval '1 millisecond',
    current_at = case when reported.current then now() else current_at end,
    last_event_at = coalesce(reported.last_event_at, held.last_event_at)
  from unnest($1::text[], $4::boolean[], $5::timestamptz[]) as reported (mailbox_id, current, last_event_at),
    ${WITHOUT_FLUSH}
  where held.mailbox_id = reported.mailbox_id and held.run_id = $2 and held.until > now()
  returning held.mailbox_id`;

const RELEASE = `
  update work.mailbox_lease set until = now() from ${WITHOUT_FLUSH}
  where mailbox_id = any($1) and run_id = $2 and until > now()`;

/** The lease of a process that died soon expires. */
const UNATTENDED = `
  select mailbox_id, coalesce(held.until <= now(), true) as free
  from unnest($1::text[]) as mailbox_id left join work.mailbox_lease as held using (mailbox_id)
  where coalesce(held.until <= now(), true) or not held.run_id = any($2)`;

export interface MailboxLease {
  readonly mailboxId: string;
  readonly fence: Fence;
  /** When an earlier worker last was up to date with the server; null when there was none. */
  readonly currentAt: Date | null;
  /** True while no other process can hold the mailbox. */
  isHeld(): boolean;
}

export interface Unattended {
  readonly mailboxId: string;
  /** False while a lease of another process still runs; that process is gone if it is not among those given. */
  readonly isFree: boolean;
}

/** What a worker reports with each renewal. */
export interface WorkerStatus {
  readonly isCurrent: boolean;
  readonly lastEventAt: Date | null;
}

/** The lease expired or was taken: its worker stops. */
export class MailboxLost extends Error {
  constructor(mailboxId: string) {
    super(`the lease of mailbox ${mailboxId} ran out`);
    this.name = 'MailboxLost';
  }
}

export class MailboxLeases {
  readonly #sql: Sql;
  readonly #runId: string;
  readonly #leaseMs: number;
  /** Mailbox → lease end by the monotonic clock, counted from before the database was asked. */
  readonly #held = new Map<string, number>();

  constructor(sql: Sql, runId: string, { leaseMs }: Pick<LeaseTimes, 'leaseMs'>) {
    this.#sql = sql;
    this.#runId = runId;
    this.#leaseMs = leaseMs;
  }

  /** Mailboxes that none of these processes holds, and whether they are free now. Throws `store_unavailable`. */
  async unattended(mailboxIds: readonly string[], runIds: readonly string[]): Promise<readonly Unattended[]> {
    const rows = await this.#sql.query<{ mailbox_id: string; free: boolean }>(UNATTENDED, [
      mailboxIds,
      runIds,
    ]);
    return rows.map(({ mailbox_id: mailboxId, free: isFree }) => ({ mailboxId, isFree }));
  }

  /** Takes the free ones among these, each with a higher fence than any before. Throws `store_unavailable`. */
  async take(mailboxIds: readonly string[]): Promise<readonly MailboxLease[]> {
    interface Row extends Record<string, unknown> {
      readonly mailbox_id: string;
      readonly fence: string;
      readonly current_at: Date | null;
    }
    if (mailboxIds.length === 0) return [];
    const until = performance.now() + this.#leaseMs;
    const rows = await this.#sql.query<Row>(TAKE, [mailboxIds, this.#runId, this.#leaseMs]);
    return rows.map(({ mailbox_id: mailboxId, fence, current_at: currentAt }) => {
      this.#held.set(mailboxId, until);
      return { mailboxId, fence: BigInt(fence), currentAt, isHeld: () => this.#isHeld(mailboxId) };
    });
  }

  /**
   * Extends the leases held. An expired lease is lost permanently, even when no other process took it. Throws
   * `store_unavailable`.
   */
  async renew(statuses: ReadonlyMap<string, WorkerStatus>): Promise<void> {
    const names = [...statuses.keys()].filter((mailboxId) => this.#isHeld(mailboxId)).sort();
    if (names.length === 0) return;
    const until = performance.now() + this.#leaseMs;
    const workers = names.map((mailboxId) => statuses.get(mailboxId));
    const renewed = await this.#sql.query<{ mailbox_id: string }>(RENEW, [
      names,
      this.#runId,
      this.#leaseMs,
      workers.map((worker) => worker?.isCurrent ?? false),
      workers.map((worker) => worker?.lastEventAt ?? null),
    ]);
    const still = new Set(renewed.map(({ mailbox_id }) => mailbox_id));
    for (const mailboxId of names) {
      if (!still.has(mailboxId)) this.#held.delete(mailboxId);
      else if (this.#held.has(mailboxId)) this.#held.set(mailboxId, until);
    }
  }

  /** Releases the leases: another process may take them at once. Throws `store_unavailable`. */
  async release(mailboxIds: readonly string[]): Promise<void> {
    for (const mailboxId of mailboxIds) this.#held.delete(mailboxId);
    if (mailboxIds.length > 0) await this.#sql.query(RELEASE, [mailboxIds, this.#runId]);
  }

  #isHeld(mailboxId: string): boolean {
    return (this.#held.get(mailboxId) ?? 0) > performance.now();
  }
}
