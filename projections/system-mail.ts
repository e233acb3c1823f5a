/** `read.system_mail`: the mails of the gateway itself, for the sweeper that sends them. No address, no text. */
import { type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';
import type { Sql } from '../commands/ports/ports.ts';

export const systemMails: Projection = {
  name: 'system-mail',
  version: 2,
  tables: ['system_mail'],
  // `due_at`: the next attempt, or the end.
  create: (tableOf) => [
    `create table ${tableOf('system_mail')} (
       id uuid primary key, status text not null, attempts int not null, due_at timestamptz not null)`,
  ],
  indexes: (tableOf) => [
    `create index on ${tableOf('system_mail')} (due_at) where status = 'waiting'`,
    `create index on ${tableOf('system_mail')} (due_at) where status = 'failed'`,
  ],
  apply: async ({ events, sql, tableOf }) => {
    const table = tableOf('system_mail');
    // Sequential: they are few, and each may depend on the one before.
    for (const event of events) await apply(sql, table, event);
  },
};

async function apply(sql: Sql, table: string, { fact, streamName }: ProjectedEvent): Promise<void> {
  const { id } = splitStreamName(streamName);
  const at = fact.meta.occurred_at;
  const end = (status: string): Promise<unknown> =>
    sql.query(`update ${table} set status = $2, due_at = $3 where id = $1`, [id, status, at]);
  switch (fact.type) {
    case 'SystemMailRequested':
      await sql.query(`insert into ${table} (id, status, attempts, due_at) values ($1, 'waiting', 0, $2)`, [
        id,
        at,
      ]);
      return;
    case 'SystemMailAttempted':
      await sql.query(`update ${table} set attempts = attempts + 1, due_at = $2 where id = $1`, [
        ...[id, fact.data.next_at ?? at],
      ]);
      if (fact.data.next_at === null) await end(fact.data.outcome);
      return;
    case 'SystemMailSkipped':
      await end('skipped');
      return;
    default:
  }
}

interface ListedMail extends Record<string, unknown> {
  readonly id: string;
}

/** Due at `$1`. */
const DUE = "status = 'waiting' and due_at <= $1";

/** Holds while `listDueMails` finds something at `$1`. */
export const MAIL_PROBE = `exists (select from read.system_mail where ${DUE})`;

/** Mails to try now, the longest due first. */
export const listDueMails = (
  sql: Sql,
  { now, limit, except }: { readonly now: Date; readonly limit: number; readonly except: readonly string[] },
): Promise<readonly ListedMail[]> =>
  sql.query<ListedMail>(
    `select id from read.system_mail where ${DUE} and id <> all($2::uuid[])
     order by due_at limit $3`,
    [now, except, limit],
  );

/** The form of a mail's id, as in the index of these keys. */
const OF_MAIL = "owner_id like '________-____-____-____-____________'";

/** Mails that ended while the key of their address still exists. They are found by their keys, of which few are left. */
export const listKeptAddresses = (
  sql: Sql,
  except: readonly string[],
  limit: number,
): Promise<readonly ListedMail[]> =>
  sql.query<ListedMail>(
    `select m.id from vault.personal_key k join read.system_mail m on m.id = case when ${OF_MAIL} then owner_id::uuid end
     where k.wrapped is not null and ${OF_MAIL} and owner_id <> all($1) and m.status <> 'waiting' limit $2`,
    [except, limit],
  );
