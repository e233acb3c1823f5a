/** The `ChangeAttribution` port on `work.mail_echo`. A NOTIFY wakes the mailbox's worker when a change has taken effect. */
import { randomUUID } from 'node:crypto';
import type { ExpectedChange } from '../../commands/feed/observe-changes.ts';
import type { Expectation, ChangeAttribution, OwnChange } from '../../commands/ports/change-attribution.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { MAILBOX_CHANNEL, encodeNotification } from './mailbox-notify.ts';

/** A crash of the database may lose expectations; at worst a self-caused change is reported without its operation. */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

const EXPECT = `
  insert into work.mail_echo (expectation_id, mailbox_id, operation_id, change)
  select $1, $2, $3, change from jsonb_array_elements($4::jsonb) as change, ${WITHOUT_FLUSH}`;

/** The notification is sent when this commits. */
const SETTLE = `
  with unsettled as (delete from work.mail_echo where expectation_id = $1),
  settled as (
    insert into work.mail_echo (expectation_id, mailbox_id, operation_id, change, settled)
    select $1, $2, $3, change, true from jsonb_array_elements($4::jsonb) as change
  )
  select pg_notify($5, $6) from ${WITHOUT_FLUSH}`;

const EXPECTED = `
  select id::text, operation_id, change from work.mail_echo
  where mailbox_id = $1 and (change->>'folder')::int = $2 order by id`;

const SETTLED = `
  select id::text from work.mail_echo
  where mailbox_id = $1 and (change->>'folder')::int = $2 and settled`;

/** Longer than any self-caused change stays unseen: a later change of the same message is not the gateway's. */
const FORGET = `
  delete from work.mail_echo where mailbox_id = $1 and noted_at < now() - interval '1 day'`;

export interface ChangeAttributionOptions {
  readonly sql: Sql;
  /** From now on no query is answered from the mirrors of these folders until they were polled again. */
  readonly invalidate: (mailboxId: string, folders: readonly number[]) => Promise<void>;
}

export function createChangeAttribution({ sql, invalidate }: ChangeAttributionOptions): ChangeAttribution {
  return {
    expect: async ({ mailboxId, operationId }, changes): Promise<Expectation> => {
      const id = randomUUID();
      // In order, so that two operations never wait for each other's folders.
      const folders = [...new Set(changes.map(({ folder }) => folder))].sort((a, b) => a - b);
      if (changes.length > 0) await sql.query(EXPECT, [id, mailboxId, operationId, JSON.stringify(changes)]);
      return {
        settle: async (settled) => {
          if (folders.length === 0) return;
          await invalidate(mailboxId, folders);
          // Only now: a worker woken before the mirrors are invalidated would find nothing to do.
          const notification = [MAILBOX_CHANNEL, encodeNotification(mailboxId, folders)];
          await sql.query(SETTLE, [id, mailboxId, operationId, JSON.stringify(settled), ...notification]);
        },
      };
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
  if (ids.length > 0) await sql.query('delete from work.mail_echo where id = any($1::bigint[])', [ids]);
}

/** Deletes expectations of the mailbox that were never met. */
export async function forgetOldExpectations(sql: Sql, mailboxId: string): Promise<void> {
  await sql.query(FORGET, [mailboxId]);
}
