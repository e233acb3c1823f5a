/** Which lines an export has: the range, what a filter selects of it, and the lines that every file needs. */
import type { Sql } from '../../commands/ports/ports.ts';
import { SEALED } from '../../commands/values/sealed.ts';
import {
  alwaysShown,
  type ExportedLine,
  LINES_AT_ONCE,
  type NeededLine,
  type SeqRange,
  seqsOf,
} from '../../projections/audit-export.ts';
import { type AuditEntry, type AuditFilter, ofResource } from '../../projections/audit-queries.ts';
import { mayHoldVerifiers, verifiersIn } from '../../projections/sealed-fields.ts';
import type { FileMode } from '../../commands/audit/export-events.ts';
import type { FilePlan } from './audit-file.ts';
import { type LineTexts, NO_TEXTS, openTexts, type TextSight } from './line-texts.ts';

/** What one reader sees of a line. */
export interface LineReader {
  maySeeBody(line: Pick<AuditEntry, 'type' | 'mailboxId'>): boolean;
  readonly sight: TextSight;
  /** False = sealed texts stay sealed. */
  readonly opens: boolean;
}

/** Filters by members that are in the file, and by those that a gateway derives. */
export const PUBLIC_FILTERS = ['actor', 'approval_id', 'mailbox_id', 'request_id', 'type'] as const;
export const DERIVED_FILTERS = ['outcome', 'resource'] as const;
type FilterName = (typeof PUBLIC_FILTERS)[number] | (typeof DERIVED_FILTERS)[number];
/** As the header of a file has it. */
export type FileFilter = Readonly<Partial<Record<FilterName, string | undefined>>>;

export interface ExportedRange {
  readonly trail: string;
  readonly size: number;
  readonly range: SeqRange;
  readonly mode: FileMode;
  readonly filter: FileFilter | null;
  /** What selects the lines of a sparse file. */
  readonly selection: AuditFilter;
}

const COLUMN_OF: Readonly<Record<Exclude<FilterName, 'resource'>, keyof AuditFilter>> = {
  actor: 'actor',
  approval_id: 'approval',
  mailbox_id: 'mailboxId',
  outcome: 'outcome',
  request_id: 'requestId',
  type: 'type',
};

/** As a condition on the read model. */
export function conditionsOf(filter: FileFilter | null): AuditFilter {
  const { resource, ...others } = filter ?? {};
  const named = Object.entries(others) as [keyof typeof COLUMN_OF, string][];
  return {
    ...ofResource(resource),
    ...Object.fromEntries(named.map(([name, value]) => [COLUMN_OF[name], value])),
  };
}

const KEYS_CHANGED = 'AuditKeyRotated';

export async function exportPlan(sql: Sql, exported: ExportedRange, reader: LineReader): Promise<FilePlan> {
  const { trail, size, range, mode, filter, selection } = exported;
  const { seqs, checkpoints } = await neededLines(sql, trail, size);
  const needed = new Set(seqs);
  const selected = mode === 'sparse' ? seqsOf(sql, trail, selection, range) : allOf(range);
  return {
    seqs: merged(selected, seqs),
    checkpoints,
    contents: [],
    show: async (line) => {
      const isWanted = mode !== 'skeleton' || needed.has(line.seq) || matches(line, filter);
      return isWanted ? await shownOf(reader, line) : null;
    },
  };
}

/** The lines that a file shows also outside its range, and the sizes of the checkpoints that show with which keys they are signed. */
export async function neededLines(
  sql: Sql,
  trail: string,
  size: number,
  isNeeded: (line: NeededLine) => boolean = () => true,
): Promise<{ readonly seqs: readonly number[]; readonly checkpoints: readonly number[] }> {
  const always = (await alwaysShown(sql, trail, size)).filter(isNeeded);
  const rotated = always.filter(({ type }) => type === KEYS_CHANGED).map(({ seq }) => seq);
  return {
    seqs: always.map(({ seq }) => seq),
    checkpoints: await checkpointsAfter(sql, trail, rotated),
  };
}

/** As `shownTo`, without reading a body that has nothing to open or to hide. */
const shownOf = async (
  reader: LineReader,
  line: ExportedLine,
): Promise<Pick<LineTexts, 'opened' | 'erased'> | null> =>
  mayHoldVerifiers(line.type) || (reader.opens && line.body?.includes(SEALED) === true)
    ? await shownTo(reader, line.entry)
    : reader.maySeeBody(line)
      ? NO_TEXTS
      : null;

/** What the reader sees of a line besides its public part; null = nothing. */
export async function shownTo(
  reader: LineReader,
  entry: AuditEntry,
): Promise<Pick<LineTexts, 'opened' | 'erased'> | null> {
  if (!reader.maySeeBody(entry) || holdsVerifier(reader.sight, entry)) return null;
  return reader.opens ? await openTexts(reader.sight, entry) : NO_TEXTS;
}

/** True where older events hold in clear what a secret is checked by: nobody is shown that (`contract.md` 12). */
const holdsVerifier = ({ personal }: TextSight, { type, data }: AuditEntry): boolean =>
  verifiersIn(type, data).some(
    (verifier) => verifier !== null && (typeof verifier !== 'string' || personal.ownerOf(verifier) === null),
  );

const matches = (line: ExportedLine, filter: FileFilter | null): boolean =>
  PUBLIC_FILTERS.every((name) => filter?.[name] === undefined || filter[name] === VALUES[name](line));

const VALUES: Readonly<Record<(typeof PUBLIC_FILTERS)[number], (line: ExportedLine) => string | null>> = {
  actor: ({ entry }) => entry.actor.id,
  approval_id: ({ approvalId }) => approvalId,
  mailbox_id: ({ mailboxId }) => mailboxId,
  request_id: ({ entry }) => entry.requestId,
  type: ({ type }) => type,
};

function* allOf({ from, to }: SeqRange): Generator<readonly number[]> {
  for (let first = from; first <= to; first += LINES_AT_ONCE)
    yield Array.from({ length: Math.min(LINES_AT_ONCE, to - first + 1) }, (_, place) => first + place);
}

/** Parts in order, with these lines at their places. */
async function* merged(
  parts: Iterable<readonly number[]> | AsyncIterable<readonly number[]>,
  needed: readonly number[],
): AsyncGenerator<readonly number[]> {
  let left = needed;
  for await (const part of parts) {
    const last = part.at(-1) ?? 0;
    yield* inParts([...new Set([...left.filter((seq) => seq <= last), ...part])].toSorted((a, b) => a - b));
    left = left.filter((seq) => seq > last);
  }
  yield* inParts(left);
}

/** Parts of at most as many lines as are read at once. */
export function* inParts(seqs: readonly number[]): Generator<readonly number[]> {
  for (let at = 0; at < seqs.length; at += LINES_AT_ONCE) yield seqs.slice(at, at + LINES_AT_ONCE);
}

/** For each line the size of the first checkpoint that covers it: it shows with which key the line is signed. */
async function checkpointsAfter(
  sql: Sql,
  trail: string,
  seqs: readonly number[],
): Promise<readonly number[]> {
  const rows = await sql.query<{ size: string | null }>(
    `select distinct (select min(size) from vault.audit_signed
        where trail = $1 and released_at is not null and size >= line.seq) as size
       from unnest($2::bigint[]) as line(seq) order by 1`,
    [trail, seqs],
  );
  return rows.flatMap(({ size }) => (size === null ? [] : [Number(size)]));
}
