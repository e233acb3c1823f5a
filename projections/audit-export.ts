/** What exports read of `read.audit`: which lines a file has, and the lines in parts of bounded size. */
import type { Sql } from '../commands/ports/ports.ts';
import { ALWAYS_SHOWN, OLDER } from './audit.ts';
import {
  type AuditEntry,
  type AuditFilter,
  COLUMNS,
  entryOf,
  type Row,
  selecting,
  withLines,
} from './audit-queries.ts';

export interface ExportedLine {
  readonly seq: number;
  readonly type: string;
  readonly mailboxId: string | null;
  readonly approvalId: string | null;
  /** Read from line and body when it is asked for: most lines of a file are written as they are. */
  readonly entry: AuditEntry;
  readonly line: string;
  /** Null for one that is too long to be shown. */
  readonly body: string | null;
  /** Of a body that is too long. */
  readonly bodyHash: Uint8Array | null;
  readonly salt: Uint8Array | null;
}

/** First and last line; `from` is `to` + 1 where there is none. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

const reading = <R extends Record<string, unknown>>(
  sql: Sql,
  text: string,
  parameters: readonly unknown[],
): Promise<readonly R[]> => withLines(() => sql.query<R>(text, parameters));

/** Lines of one read. */
export const LINES_AT_ONCE = 1_000;
/** Bytes of the bodies of one read; a longer body is a read of its own. */
const BYTES_AT_ONCE = 1_000_000;
/** A record of a file is at most this long (`docs/audit-format.md` 6). */
export const MOST_BYTES = 8 * 1024 * 1024;

const IS_LONG = `octet_length(body) > ${String(MOST_BYTES)}`;
const LINES = `select ${COLUMNS}, salt, case when ${IS_LONG} then null else body end as body,
    case when ${IS_LONG} then sha256(coalesce(salt, ''::bytea) || convert_to(body, 'UTF8')) end as body_hash
  from (select *, row_number() over (order by seq) as place, sum(octet_length(body)) over (order by seq) as bytes
          from read.audit where trail = $1 and seq = any($2::bigint[])) as asked
  where bytes <= ${String(BYTES_AT_ONCE)} or place = 1 order by seq`;

interface LineRow extends Omit<Row, 'body'> {
  readonly body: string | null;
  readonly body_hash: Buffer | null;
  readonly salt: Buffer | null;
}

class LineOfRow implements ExportedLine {
  readonly seq: number;
  readonly type: string;
  readonly mailboxId: string | null;
  readonly approvalId: string | null;
  readonly line: string;
  readonly body: string | null;
  readonly bodyHash: Uint8Array | null;
  readonly salt: Uint8Array | null;
  readonly #row: LineRow;
  #entry: AuditEntry | null = null;

  constructor(row: LineRow) {
    this.seq = Number(row.seq);
    this.type = row.type;
    this.mailboxId = row.mailbox_id;
    this.approvalId = row.approval_id;
    this.line = row.line;
    this.body = row.body;
    this.bodyHash = row.body_hash;
    this.salt = row.salt;
    this.#row = row;
  }

  get entry(): AuditEntry {
    this.#entry ??= entryOf({ ...this.#row, body: this.body ?? '{}' });
    return this.#entry;
  }
}

/** The first of these lines, at least one. Throws when the trail lacks it, and `index_building`. */
async function linesAt(sql: Sql, trail: string, seqs: readonly number[]): Promise<readonly ExportedLine[]> {
  const rows = await reading<LineRow & Record<string, unknown>>(sql, LINES, [trail, seqs]);
  const lines = rows.map((row) => new LineOfRow(row));
  const missing = seqs.find((seq, place) => place < Math.max(lines.length, 1) && lines[place]?.seq !== seq);
  if (missing !== undefined) throw new Error(`the trail ${trail} has no line ${String(missing)}`);
  return lines;
}

/** Numbers of lines, in parts of at most 1,000. */
export type SeqParts = Iterable<readonly number[]> | AsyncIterable<readonly number[]>;

/** These lines in their order, in reads of bounded size. */
export async function* linesIn(
  sql: Sql,
  trail: string,
  parts: SeqParts,
): AsyncGenerator<readonly ExportedLine[]> {
  for await (const part of parts) {
    for (let rest = part; rest.length > 0;) {
      const lines = await linesAt(sql, trail, rest);
      yield lines;
      rest = rest.slice(lines.length);
    }
  }
}

/** The smallest range within `within` that has every line from `from` up to before `to`; both RFC 3339. */
export async function rangeOfTimes(
  sql: Sql,
  trail: string,
  times: Pick<AuditFilter, 'from' | 'to'>,
  within: SeqRange,
): Promise<SeqRange> {
  const { condition, parameters } = selecting(trail, times);
  const place = parameters.length + 1;
  const [row] = await reading<{ from: string | null; to: string | null }>(
    sql,
    `select min(seq) as from, max(seq) as to from read.audit
      where ${condition} and seq >= $${String(place)} and seq <= $${String(place + 1)}`,
    [...parameters, within.from, within.to],
  );
  if (row?.from == null || row.to === null) return { from: within.from, to: within.from - 1 };
  return { from: Number(row.from), to: Number(row.to) };
}

/** The matching lines of a range, in parts. */
export async function* seqsOf(
  sql: Sql,
  trail: string,
  filter: AuditFilter,
  { from, to }: SeqRange,
): AsyncGenerator<readonly number[]> {
  const { condition, parameters } = selecting(trail, filter);
  const place = parameters.length + 1;
  for (let after = from - 1; ;) {
    const rows = await reading<{ seq: string }>(
      sql,
      `select seq from read.audit where ${condition} and seq > $${String(place)} and seq <= $${String(place + 1)}
        order by seq limit ${String(LINES_AT_ONCE)}`,
      [...parameters, after, to],
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(({ seq }) => Number(seq));
    after = Number(last.seq);
  }
}

/** How many lines of a range match, and the last of them; of the first `most` of them, null = of all. */
export async function countOf(
  sql: Sql,
  trail: string,
  {
    filter,
    range,
    most,
  }: { readonly filter: AuditFilter; readonly range: SeqRange; readonly most: number | null },
): Promise<{ readonly count: number; readonly last: number | null }> {
  const { condition, parameters } = selecting(trail, filter);
  const place = parameters.length + 1;
  const [row] = await reading<{ count: string; last: string | null }>(
    sql,
    `select count(*) as count, max(seq) as last from (select seq from read.audit
       where ${condition} and seq >= $${String(place)} and seq <= $${String(place + 1)} order by seq limit $${String(place + 2)}) as matching`,
    [...parameters, range.from, range.to, most],
  );
  return { count: Number(row?.count ?? 0), last: row?.last == null ? null : Number(row.last) };
}

export interface NeededLine {
  readonly seq: number;
  readonly type: string;
  /** Of an erasure: the owner of the erased texts. */
  readonly resourceId: string | null;
}

/** The lines that files show also outside their range, up to a size: few. */
export async function alwaysShown(sql: Sql, trail: string, size: number): Promise<readonly NeededLine[]> {
  const rows = await reading<{ seq: string; type: string; resource_id: string | null }>(
    sql,
    `select seq, type, resource_id from read.audit where trail = $1 and seq <= $2 and ${ALWAYS_SHOWN} order by seq`,
    [trail, size],
  );
  return rows.map(({ seq, type, resource_id: resourceId }) => ({ seq: Number(seq), type, resourceId }));
}

/** Lines of a range that do not name mailbox and approval themselves. */
export async function countOlder(sql: Sql, trail: string, { from, to }: SeqRange): Promise<number> {
  const [row] = await reading<{ count: string }>(
    sql,
    `select count(*) as count from read.audit where trail = $1 and seq >= $2 and seq <= $3 and ${OLDER}`,
    [trail, from, to],
  );
  return Number(row?.count ?? 0);
}
