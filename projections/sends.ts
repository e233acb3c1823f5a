/** `read.send`: sends that have not ended, for the sweeper that continues them. */
import { type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { CopyHabit } from '../commands/sending/sent-copy.ts';

/** `scheduled`: held back until its time. `waiting`: the mail server has not accepted it yet. */
type SendPhase = 'intended' | 'sending' | 'scheduled' | 'waiting' | 'unknown' | 'sent' | 'filed' | 'ended';

export const sends: Projection = {
  name: 'sends',
  version: 4,
  tables: ['send'],
  create: (tableOf) => [
    `create table ${tableOf('send')} (
       operation_id text primary key, draft_id text not null, mailbox_id text not null, org_id text,
       phase text not null, told boolean not null default false, filed_by text,
       due_at timestamptz not null, updated_at timestamptz not null)`,
  ],
  indexes: (tableOf) => [
    `create index on ${tableOf('send')} (due_at) where not told or phase in ('unknown', 'sent')`,
    `create index on ${tableOf('send')} (mailbox_id, updated_at) where filed_by is not null`,
    `create index on ${tableOf('send')} (draft_id)`,
    `create index on ${tableOf('send')} (operation_id) where phase = 'waiting'`,
  ],
  apply: async ({ events, sql, tableOf }) => {
    const table = tableOf('send');
    const begun = new Begun();
    // Sequential: sends are few, and each may depend on the one before.
    for (const event of events) {
      if (begun.take(event)) continue;
      await begun.write(sql, table);
      await apply(sql, table, event);
    }
    await begun.write(sql, table);
  },
};

type FactOf<Type> = Extract<ProjectedEvent['fact'], { readonly type: Type }>;

/** A send that begins in the batch, as far as its row depends on nothing before it. */
interface BegunSend extends Omit<DueSend, 'lastFiledBy'> {
  readonly dueAt: string;
  readonly updatedAt: string;
}

/** The sends that begin in a batch, with what follows in it: one row each, written at once. */
class Begun {
  readonly #sends = new Map<string, BegunSend>();

  /** False for an event that changes a row in the table; those before it are to be written first. */
  take({ fact, streamName }: ProjectedEvent): boolean {
    const { id } = splitStreamName(streamName);
    if (fact.type === 'SendIntended') {
      this.#put(intended(id, fact));
      return true;
    }
    if (!changesSend(fact)) return true;
    const send = this.#sends.get(movedBy(fact)?.operationId ?? id);
    if (send === undefined || fact.type === 'SentCopyFiled' || fact.type === 'DraftDiscarded') return false;
    this.#put({ ...send, ...changeOf(send, fact), updatedAt: fact.meta.occurred_at });
    return true;
  }

  async write(sql: Sql, table: string): Promise<void> {
    const sends = [...this.#sends.values()];
    this.#sends.clear();
    if (sends.length === 0) return;
    const column = (name: keyof BegunSend): readonly unknown[] => sends.map((send) => send[name]);
    await sql.query(
      `insert into ${table} (operation_id, draft_id, mailbox_id, org_id, phase, told, due_at, updated_at)
       select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[],
         $7::timestamptz[], $8::timestamptz[])
       on conflict (operation_id) do update set phase = excluded.phase, told = excluded.told,
         due_at = excluded.due_at, updated_at = excluded.updated_at`,
      COLUMNS.map(column),
    );
  }

  #put(send: BegunSend): void {
    this.#sends.set(send.operationId, send);
  }
}

const COLUMNS = [
  'operationId',
  'draftId',
  'mailboxId',
  'orgId',
  'phase',
  'told',
  'dueAt',
  'updatedAt',
] as const;

const CHANGING: ReadonlySet<string> = new Set([
  'SentCopyFiled',
  'DraftDiscarded',
  'CommitAttemptFailed',
  'SendOutcomeRecorded',
  'SendReconciled',
]);

const changesSend = (fact: ProjectedEvent['fact']): boolean =>
  CHANGING.has(fact.type) || movedBy(fact) !== null;

function intended(operationId: string, { data, meta }: FactOf<'SendIntended'>): BegunSend {
  const places = { draftId: data.draft_id, mailboxId: data.mailbox_id, orgId: meta.org_id };
  const at = meta.occurred_at;
  return { operationId, ...places, phase: 'intended', told: false, dueAt: at, updatedAt: at };
}

/** As `apply` changes a row. */
function changeOf({ phase, told }: BegunSend, fact: ProjectedEvent['fact']): Partial<BegunSend> {
  const moved = movedBy(fact);
  if (moved !== null) return { ...moved, told: told && phase !== 'unknown' };
  const isReport = fact.type === 'SendOutcomeRecorded' || fact.type === 'SendReconciled';
  return { told: !isReport || fact.data.outcome !== 'unknown' || phase === 'unknown' };
}

/** For a row in the table. */
async function apply(sql: Sql, table: string, { fact, streamName }: ProjectedEvent): Promise<void> {
  const { id } = splitStreamName(streamName);
  const at = fact.meta.occurred_at;
  const moved = movedBy(fact);
  if (moved !== null) {
    const { operationId, phase, dueAt } = moved;
    // "Unknown" may have been reported to the operation; the reconciled outcome has not.
    await sql.query(
      `update ${table} set told = told and phase <> 'unknown', phase = $2, due_at = $3, updated_at = $4
       where operation_id = $1`,
      [operationId, phase, dueAt, at],
    );
    return;
  }
  switch (fact.type) {
    case 'SentCopyFiled':
      await sql.query(
        `update ${table} set phase = 'filed', filed_by = $2, updated_at = $3 where operation_id = $1`,
        [fact.data.operation_id, fact.data.filed_by, at],
      );
      return;
    case 'DraftDiscarded':
      await sql.query(
        `update ${table} set phase = 'ended', due_at = $2, updated_at = $2
         where draft_id = $1 and phase in ('intended', 'sending', 'scheduled', 'waiting')`,
        [id, at],
      );
      return;
    case 'CommitAttemptFailed':
      // Nothing was sent, and its approval alone decides whether it is retried.
      await sql.query(`update ${table} set told = true, updated_at = $2 where operation_id = $1`, [id, at]);
      return;
    case 'SendOutcomeRecorded':
    case 'SendReconciled':
      // A report of "unknown" may be late: the draft may already have a newer outcome.
      await sql.query(
        `update ${table} set told = $2 or phase = 'unknown', updated_at = $3 where operation_id = $1`,
        [id, fact.data.outcome !== 'unknown', at],
      );
      return;
    default:
  }
}

interface Moved {
  readonly operationId: string;
  readonly phase: SendPhase;
  readonly dueAt: string;
}

/** The phase of the send after an event of the draft's stream; null for every other event. */
function movedBy({ type, data, meta }: ProjectedEvent['fact']): Moved | null {
  const now = meta.occurred_at;
  switch (type) {
    case 'SendStarted':
      return { operationId: data.operation_id, phase: 'sending', dueAt: now };
    case 'SendScheduled':
      return { operationId: data.operation_id, phase: 'scheduled', dueAt: data.commit_at };
    case 'SendPostponed':
      // Its approval is updated at once, and from then on decides when the send is retried.
      return {
        operationId: data.operation_id,
        phase: 'waiting',
        dueAt: data.approval_id === undefined ? data.retry_at : now,
      };
    case 'DraftSendUnknown':
      return { operationId: data.operation_id, phase: 'unknown', dueAt: now };
    case 'DraftSent':
      return { operationId: data.operation_id, phase: 'sent', dueAt: now };
    case 'DraftSendFailed':
      return { operationId: data.operation_id, phase: 'ended', dueAt: now };
    default:
      return null;
  }
}

/** A send that must be continued. */
export interface DueSend {
  readonly operationId: string;
  readonly draftId: string;
  readonly mailboxId: string;
  readonly orgId: string | null;
  readonly phase: SendPhase;
  /** The operation has recorded the outcome, or that it is unknown. */
  readonly told: boolean;
  /** How the last Sent copy of this mailbox was filed. */
  readonly lastFiledBy: CopyHabit;
}

/** Sent copies are searched for this long; later the person has long searched manually. */
const LOOK_FOR_DAYS = 7;

/** How long others are given first. */
export interface Patience {
  /** The process that sends, from each of its events to the next. */
  readonly leftForMs: number;
  /** The mail server, to file its own copy. */
  readonly ownCopyWithinMs: number;
}

/** A query for due sends. */
interface DueSendsQuery extends Patience {
  readonly now: Date;
  readonly limit: number;
  /** Operations to leave out. */
  readonly except: readonly string[];
  /** At most this many per mailbox, minus one for each time it is in `busy`. */
  readonly ofOneMailbox: number;
  readonly busy: readonly string[];
}

/** How the last Sent copy of the mailbox of `send` was filed. */
const LAST_FILED_BY = `(select filed_by from read.send f
  where f.mailbox_id = send.mailbox_id and f.filed_by is not null order by f.updated_at desc limit 1)`;

const ago = (ms: number): string => `$1 - interval '${String(ms)} milliseconds'`;

/** Those due at `$1`. A copy is sought early only where the mail server filed the last one. */
const dueSends = ({ leftForMs, ownCopyWithinMs }: Patience): string => `(select * from read.send
  where due_at <= $1
    and ((not told and (phase in ('scheduled', 'waiting', 'unknown') or due_at <= ${ago(leftForMs)}))
      or (told and phase in ('unknown', 'sent') and due_at > $1 - interval '${String(LOOK_FOR_DAYS)} days'
        and (phase = 'unknown' or due_at <= ${ago(ownCopyWithinMs)} or ${LAST_FILED_BY} = 'server'))))`;

/** Holds while `listDueSends` finds something at `$1`. */
export const sendProbe = (patience: Patience): string => `exists ${dueSends(patience)}`;

/** Sends that are due now, the longest due first. */
export async function listDueSends(
  sql: Sql,
  { now, limit, except, ofOneMailbox, busy, ...patience }: DueSendsQuery,
): Promise<readonly DueSend[]> {
  const rows = await sql.query<{
    operation_id: string;
    draft_id: string;
    mailbox_id: string;
    org_id: string | null;
    phase: SendPhase;
    told: boolean;
    last_filed_by: CopyHabit;
  }>(
    `select operation_id, draft_id, mailbox_id, org_id, phase, told, ${LAST_FILED_BY} as last_filed_by
     from (
       select *, row_number() over (partition by mailbox_id order by due_at, operation_id) as place
       from ${dueSends(patience)} all_due
       where operation_id <> all($3::text[])
     ) send
     where place <= $4 - (select count(*) from unnest($5::text[]) as b(mailbox_id) where b.mailbox_id = send.mailbox_id)
     order by due_at, operation_id limit $2`,
    [now, limit, except, ofOneMailbox, busy],
  );
  return rows.map((row) => ({
    operationId: row.operation_id,
    draftId: row.draft_id,
    mailboxId: row.mailbox_id,
    orgId: row.org_id,
    phase: row.phase,
    told: row.told,
    lastFiledBy: row.last_filed_by,
  }));
}
