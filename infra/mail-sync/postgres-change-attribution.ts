/** The `ChangeAttribution` port on `work.mail_echo`. A NOTIFY wakes the mailbox's worker when a change has taken effect. */
import { randomUUID } from 'node:crypto';
import type { ExpectedChange } from '../../commands/feed/observe-changes.ts';
import type {
  ChangeAttribution,
  Expectation,
  Originator,
  OwnChange,
} from '../../commands/ports/change-attribution.ts';
import type { Leases } from '../../commands/ports/leases.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { LEASE_TAKEN } from '../postgres/leases.ts';
import { MAILBOX_CHANNEL, encodeNotification } from './mailbox-notify.ts';

/** A crash of the database may lose expectations; at worst a self-caused change is reported without its operation. */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

const EXPECT = {
  name: 'echo_expect',
  text: `
    insert into work.mail_echo (expectation_id, mailbox_id, operation_id, change)
    select $1, $2, $3, change from jsonb_array_elements($4::jsonb) as change, ${WITHOUT_FLUSH}`,
};

/** Beside the lease: what is expected is noted only where it was taken. */
const EXPECT_UNDER = {
  name: 'echo_expect_under_lease',
  text: `
    ${LEASE_TAKEN}, noted as (
      insert into work.mail_echo (expectation_id, mailbox_id, operation_id, change)
      select $4, $5, $6, change from taken, jsonb_array_elements($7::jsonb) as change
    )
    select mine from taken`,
};

/**
 * The notification is sent when this commits, and the mirrors are invalidated by then: a worker woken before would find
 * nothing to do. That is not flushed: should a crash of the database lose it, mail server and worker still report the
 * change. Folders are locked in order, so that two operations never wait for each other's.
 */
const SETTLE = {
  name: 'echo_settle',
  text: `
    with unsettled as (delete from work.mail_echo where expectation_id = $1),
    settled as (
      insert into work.mail_echo (expectation_id, mailbox_id, operation_id, change, settled)
      select $1, $2, $3, change, true from jsonb_array_elements($4::jsonb) as change
    ),
    locked as materialized (
      select folder_number from mirror.folder where mailbox_number = $7 and folder_number = any($8::int[])
      order by folder_number for update
    ),
    invalidated as (
      update mirror.folder as f set distrusts = distrusts + 1 from locked
      where f.mailbox_number = $7 and f.folder_number = locked.folder_number
    ),
    released as (delete from work.lease where name = $9 and run_id = $10)
    select pg_notify($5, $6::text) from ${WITHOUT_FLUSH} where $6::text is not null`,
};

const EXPECTED = {
  name: 'echo_expected',
  text: `
    select id::text, operation_id, change from work.mail_echo
    where mailbox_id = $1 and (change->>'folder')::int = $2 order by id`,
};

const SETTLED = {
  name: 'echo_settled',
  text: `
    select id::text from work.mail_echo
    where mailbox_id = $1 and (change->>'folder')::int = $2 and settled`,
};

const DROP = { name: 'echo_drop', text: 'delete from work.mail_echo where id = any($1::bigint[])' };

/** Longer than any self-caused change stays unseen: a later change of the same message is not the gateway's. */
const FORGET = `
  delete from work.mail_echo where mailbox_id = $1 and noted_at < now() - interval '1 day'`;

export interface ChangeAttributionOptions {
  readonly sql: Sql;
  /** Null when the mailbox is unknown. From a settled change on, no query is answered from the mirror of its folder. */
  readonly mailboxNumber: (mailboxId: string) => number | null;
}

interface Noted {
  readonly id: string;
  readonly originator: Originator;
  readonly changes: readonly OwnChange[];
  /** Taken with it. */
  readonly lease: { readonly leases: Leases; readonly name: string } | null;
}

export function createChangeAttribution({ sql, mailboxNumber }: ChangeAttributionOptions): ChangeAttribution {
  const settling = ({ id, originator: { mailboxId, operationId }, changes, lease }: Noted): Expectation => {
    const folders = [...new Set(changes.map(({ folder }) => folder))];
    return {
      settle: async (settled) => {
        const settleUnder = async (name: string | null, runId: string | null): Promise<void> => {
          // No folders would mean all.
          const ring = folders.length === 0 ? null : encodeNotification(mailboxId, folders);
          const mirrors = [mailboxNumber(mailboxId), folders];
          const about = [id, mailboxId, operationId, JSON.stringify(settled)];
          await sql.query(SETTLE, [...about, MAILBOX_CHANNEL, ring, ...mirrors, name, runId]);
        };
        if (lease) await lease.leases.releaseBy(lease.name, ({ runId }) => settleUnder(lease.name, runId));
        else if (folders.length > 0) await settleUnder(null, null);
      },
    };
  };
  return {
    expect: async (originator, changes) => {
      const id = randomUUID();
      const { mailboxId, operationId } = originator;
      if (changes.length > 0) await sql.query(EXPECT, [id, mailboxId, operationId, JSON.stringify(changes)]);
      return settling({ id, originator, changes, lease: null });
    },
    expectUnder: async (lease, originator, changes) => {
      const id = randomUUID();
      const { mailboxId, operationId } = originator;
      const isTaken = await lease.leases.acquireBy(lease.name, async ({ runId, leaseMs }) => {
        const noted = [id, mailboxId, operationId, JSON.stringify(changes)];
        return (await sql.query(EXPECT_UNDER, [lease.name, runId, leaseMs, ...noted])).length > 0;
      });
      return isTaken ? settling({ id, originator, changes, lease }) : null;
    },
  };
}

/** The changes the gateway itself makes in a folder, oldest first. Throws `store_unavailable`. */
export async function expectedChanges(
  sql: Sql,
  mailboxId: string,
  folder: number,
): Promise<readonly ExpectedChange[]> {
  interface Row extends Record<string, unknown> {
    readonly id: string;
    readonly operation_id: string | null;
    readonly change: OwnChange;
  }
  const rows = await sql.query<Row>(EXPECTED, [mailboxId, folder]);
  return rows.map(({ id, operation_id, change }) => ({ id, operationId: operation_id, change }));
}

/** Ids of changes that have taken effect: a poll that begins after this covers them, or they will never be seen. */
export async function settledChanges(
  sql: Sql,
  mailboxId: string,
  folder: number,
): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(SETTLED, [mailboxId, folder]);
  return rows.map(({ id }) => id);
}

/** They were reported, or never will be. */
export async function dropExpected(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query(DROP, [ids]);
}

/** Deletes expectations of the mailbox that were never met. */
export async function forgetOldExpectations(sql: Sql, mailboxId: string): Promise<void> {
  await sql.query(FORGET, [mailboxId]);
}
