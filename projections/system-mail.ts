/** `read.system_mail`: the mails of the gateway itself, for the sweeper that sends them. No address, no text. */
import { type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { SystemMailKind } from '../commands/system-mail/system-mail.ts';

export const systemMails: Projection = {
  name: 'system-mail',
  version: 1,
  tables: ['system_mail'],
  // `due_at`: the next attempt, or the end.
  create: (tableOf) => [
    `create table ${tableOf('system_mail')} (
       id uuid primary key, kind text not null, status text not null, attempts int not null,
       due_at timestamptz not null, has_address boolean not null)`,
  ],
  indexes: (tableOf) => [
    `create index on ${tableOf('system_mail')} (due_at) where status = 'waiting'`,
    `create index on ${tableOf('system_mail')} (due_at) where status = 'failed'`,
    `create index on ${tableOf('system_mail')} (due_at) where status <> 'waiting' and has_address`,
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
      await sql.query(
        `insert into ${table} (id, kind, status, attempts, due_at, has_address) values ($1, $2, 'waiting', 0, $3, $4)`,
        [id, fact.data.kind, at, fact.data.to !== null],
      );
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

interface DueMail {
  readonly id: string;
  readonly kind: SystemMailKind;
}

/** Mails to try now, the longest due first. */
export const listDueMails = (
  sql: Sql,
  { now, limit, except }: { readonly now: Date; readonly limit: number; readonly except: readonly string[] },
): Promise<readonly DueMail[]> =>
  sql.query<DueMail & Record<string, unknown>>(
    `select id, kind from read.system_mail where status = 'waiting' and due_at <= $1 and id <> all($2::uuid[])
     order by due_at limit $3`,
    [now, except, limit],
  );

/** Mails that ended since then while the key of their address still exists. */
export const listKeptAddresses = (sql: Sql, since: Date, limit: number): Promise<readonly { id: string }[]> =>
  sql.query<{ id: string }>(
    `select m.id from read.system_mail m join vault.personal_key k on k.owner_id = m.id::text
     where m.status <> 'waiting' and m.has_address and m.due_at > $1 and k.wrapped is not null limit $2`,
    [since, limit],
  );
