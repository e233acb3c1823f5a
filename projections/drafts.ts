/** `read.draft`: every draft as its stream records it, for lists and sweepers; recipients and Message-IDs of sent ones. */
import { draft, type DraftState } from '../commands/drafts/draft.ts';
import type { DraftStatus } from '../commands/operations/draft-shape.ts';
import type { Sql } from '../commands/ports/ports.ts';
import { forgetContacts, keepContacts } from './contacts.ts';
import { forgetSentMessages, keepSentMessages } from './sent-messages.ts';
import { type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';

type DraftEvent = Parameters<typeof draft.evolve>[1];

interface Row extends Record<string, unknown> {
  readonly id: string;
  readonly org_id: string | null;
  readonly state: DraftState;
}

export const drafts: Projection = {
  name: 'drafts',
  version: 6,
  tables: ['draft', 'contact', 'sent_message'],
  // The state is that of the write side, sealed texts sealed: single reads and lists then show the same.
  create: (tableOf) => [
    `create table ${tableOf('draft')} (
       id text primary key, org_id text, mailbox_id text not null, status text not null, version int not null,
       state jsonb not null, updated_at timestamptz not null)`,
    `create table ${tableOf('contact')} (mailbox_id text, address text, primary key (mailbox_id, address))`,
    `create table ${tableOf('sent_message')} (
       mailbox_id text, message_hash text, draft_id text not null, primary key (mailbox_id, message_hash))`,
  ],
  indexes: (tableOf) => [
    `create index on ${tableOf('draft')} (mailbox_id, id desc)`,
    `create index on ${tableOf('draft')} (updated_at)`,
  ],
  apply: async (batch) => {
    const { events, sql, tableOf } = batch;
    const ofDrafts = events.filter(({ fact }) => draft.catalogue.has(fact.type));
    if (ofDrafts.length > 0) {
      const { sent, begun } = await foldInto(sql, tableOf('draft'), ofDrafts);
      await keepContacts(batch, sent);
      await keepSentMessages(batch, begun);
    }
    await forgetContacts(batch);
    await forgetSentMessages(batch);
  },
};

interface Folded {
  /** The drafts among them that were sent, as they are now. */
  readonly sent: readonly DraftState[];
  /** Those whose message went out, or may have. */
  readonly begun: readonly ListedDraft[];
}

async function foldInto(sql: Sql, table: string, events: readonly ProjectedEvent[]): Promise<Folded> {
  const byDraft = Map.groupBy(events, ({ streamName }) => splitStreamName(streamName).id);
  const before = await sql.query<Row>(`select id, org_id, state from ${table} where id = any($1::text[])`, [
    [...byDraft.keys()],
  ]);
  const known = new Map(before.map((row) => [row.id, row]));
  const rows = [...byDraft].flatMap(([id, some]) => {
    const row = known.get(id);
    const state = some.reduce(
      (now, { fact }) => draft.evolve(now, fact as DraftEvent),
      row?.state ?? draft.initial,
    );
    const orgId = row ? row.org_id : (some[0]?.fact.meta.org_id ?? null);
    return state.current === null ? [] : [{ id, orgId, state, version: state.current.version }];
  });
  await sql.query(
    `insert into ${table} (id, org_id, mailbox_id, status, version, state, updated_at)
     select id, org_id, mailbox_id, status, version, state, updated_at
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::jsonb[], $7::timestamptz[])
       as r(id, org_id, mailbox_id, status, version, state, updated_at)
     on conflict (id) do update set status = excluded.status, version = excluded.version, state = excluded.state,
       updated_at = excluded.updated_at`,
    [
      rows.map(({ id }) => id),
      rows.map(({ orgId }) => orgId),
      rows.map(({ state }) => state.mailboxId),
      rows.map(({ state }) => state.status),
      rows.map(({ version }) => version),
      rows.map(({ state }) => JSON.stringify(state)),
      rows.map(({ state }) => state.updatedAt),
    ],
  );
  const changedBy = (...types: readonly string[]): readonly ListedDraft[] => {
    const changed = events.filter(({ fact }) => types.includes(fact.type));
    const streams = new Set(changed.map(({ streamName }) => streamName));
    return rows.filter(({ id }) => streams.has(`draft-${id}`));
  };
  return {
    sent: changedBy('DraftSent').map(({ state }) => state),
    begun: changedBy('SendDataBegun', 'DraftSent'),
  };
}

export interface ListedDraft {
  readonly id: string;
  readonly state: DraftState;
}

interface DraftQuery {
  readonly mailboxIds: readonly string[];
  readonly status: DraftStatus | null;
  /** Ids below this one; null = start at the newest. */
  readonly before: string | null;
  readonly limit: number;
}

/** Drafts of these mailboxes, the newest first. */
export async function listDraftStates(
  sql: Sql,
  { mailboxIds, status, before, limit }: DraftQuery,
): Promise<readonly ListedDraft[]> {
  return await sql.query<{ id: string; state: DraftState }>(
    `select id, state from read.draft
     where mailbox_id = any($1::text[]) and ($2::text is null or status = $2) and ($3::text is null or id < $3)
     order by id desc limit $4`,
    [mailboxIds, status, before, limit],
  );
}

interface UnsentQuery {
  readonly mailboxIds: readonly string[];
  /** Drafts that are left out. */
  readonly except: readonly string[];
  readonly limit: number;
}

/** Drafts of these mailboxes that could still be discarded, oldest change first. */
export async function listUnsentDrafts(
  sql: Sql,
  { mailboxIds, except, limit }: UnsentQuery,
): Promise<readonly { readonly draftId: string; readonly orgId: string | null }[]> {
  const rows = await sql.query<{ id: string; org_id: string | null }>(
    `select id, org_id from read.draft
     where mailbox_id = any($1::text[]) and id <> all($3::text[])
       and (status in ('open', 'in_review', 'send_failed') or (status = 'sending' and coalesce(state->'send'->>'retryAt', state->'send'->>'commitAt') is not null))
     order by updated_at limit $2`,
    [mailboxIds, limit, except],
  );
  return rows.map(({ id, org_id }) => ({ draftId: id, orgId: org_id }));
}

/** The people and agents who started drafts in a mailbox. */
export async function listDraftAuthors(sql: Sql, mailboxId: string): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string | null }>(
    `select distinct state->>'createdBy' as id from read.draft where mailbox_id = $1`,
    [mailboxId],
  );
  return rows.flatMap(({ id }) => id ?? []);
}
