/** The `MailEchoes` port on `work.mail_echo`, and the bell that calls the mailbox's worker when an effect is over. */
import { randomUUID } from 'node:crypto';
import type { ExpectedChange } from '../../commands/feed/observe-changes.ts';
import type { Expectation, ChangeAttribution, OwnChange } from '../../commands/ports/change-attribution.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { MAILBOX_CHANNEL, encodeNotification } from './mailbox-notify.ts';

/** A crash of the database may forget what is expected; the worst is an own change told as somebody's. */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

const EXPECT = `
  insert into work.mail_echo (expectation_id, mailbox_id, operation_id, change)
  select $1, $2, $3, change from jsonb_array_elements($4::jsonb) as change, ${WITHOUT_FLUSH}`;

/** The bell rings when this is committed. */
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

/** Longer than any own change stays unseen: after that a change of the same message is somebody's. */
const FORGET = `
  delete from work.mail_echo where mailbox_id = $1 and noted_at < now() - interval '1 day'`;

export interface ChangeAttributionOptions {
  readonly sql: Sql;
  /** From now on no query is answered from the copies of these folders until they were looked at anew. */
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
          // Only now: a worker called before the copies are distrusted would find nothing to do.
          const notification = [MAILBOX_CHANNEL, encodeNotification(mailboxId, folders)];
          await sql.query(SETTLE, [id, mailboxId, operationId, JSON.stringify(settled), ...notification]);
        },
      };
    },
  };
}

/** What the gateway itself changes in a folder, oldest first. Throws `store_unavailable`. */
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

/** Ids of what had its effect before now: a look that begins after this sees it, or it never will be seen. */
export async function settledChanges(
  sql: Sql,
  mailboxId: string,
  folder: number,
): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(SETTLED, [mailboxId, folder]);
  return rows.map(({ id }) => id);
}

/** They were seen and told, or never will be. */
export async function dropExpected(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query('delete from work.mail_echo where id = any($1::bigint[])', [ids]);
}

/** Expectations of the mailbox that nothing came of. */
export async function forgetOldExpectations(sql: Sql, mailboxId: string): Promise<void> {
  await sql.query(FORGET, [mailboxId]);
}
