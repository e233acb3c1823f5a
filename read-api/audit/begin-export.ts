/** What a new export is about: its lines, the checkpoint that they are proven by, and how much its file proves. */
import type { ExportTerms, FileMode } from '../../commands/audit/export-events.ts';
import type { Ports, Sql } from '../../commands/ports/ports.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Seals } from '../../commands/ports/trails.ts';
import type { Position } from '../../commands/values/position.ts';
import { countOf, countOlder, rangeOfTimes, type SeqRange } from '../../projections/audit-export.ts';
import { MOST_ROWS } from './audit-csv.ts';
import type { AuditFilter } from '../../projections/audit-queries.ts';
import { type Checkpoint, checkpointAt, linesToSeal } from './checkpoints.ts';
import { conditionsOf, DERIVED_FILTERS, type FileFilter, PUBLIC_FILTERS } from './export-plan.ts';

export interface WantedExport extends FileFilter {
  readonly format?: ExportTerms['format'] | undefined;
  readonly mode?: FileMode | undefined;
  readonly disclose?: ExportTerms['disclose'] | undefined;
  /** RFC 3339; `from` is included, `to` is not. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Both included. */
  readonly from_seq?: number | undefined;
  readonly to_seq?: number | undefined;
}

export interface BegunExport {
  readonly terms: Omit<ExportTerms, 'version'>;
  /** The lines of the next parts; null = there are none. */
  readonly next: SeqRange | null;
}

/** For the lines of the newest events in the read model. With the three seconds of `sealNow` a caller waits for five. */
const WITHIN_MS = 2_000;
const RETRY_AFTER_SECONDS = 5;

/** Waits until the read model has every line up to a position. Throws `seal_behind` after two seconds. */
export async function linesUpTo(readModels: Ports['readModels'], position: Position): Promise<void> {
  if (await readModels.waitFor(position, WITHIN_MS)) return;
  throw new GatewayError('seal_behind', 'The newest lines are not there yet; ask again shortly.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** Seals what the export is about. Throws `invalid_request`, and what `seals` throws. */
export async function beginExport(
  { sql, seals }: Pick<Ports, 'sql'> & { readonly seals: Pick<Seals, 'sealNow'> },
  trail: string,
  wanted: WantedExport,
  mostRows = MOST_ROWS,
): Promise<BegunExport> {
  modeOf(wanted, filterOf(wanted));
  const atLeast = wanted.to_seq ?? (await linesToSeal(sql, trail));
  await seals.sealNow(trail, atLeast);
  const checkpoint = await checkpointAt(sql, trail, 'latest');
  if (checkpoint === null) throw noLines();
  return await exportAt(sql, checkpoint, wanted, mostRows);
}

/** The same, of lines that are proven by this checkpoint: as long as the trail is what was signed, always the same. */
export async function exportAt(
  sql: Sql,
  { trail, epoch, size }: Pick<Checkpoint, 'trail' | 'epoch' | 'size'>,
  wanted: WantedExport,
  mostRows = MOST_ROWS,
): Promise<BegunExport> {
  const filter = filterOf(wanted);
  const mode = modeOf(wanted, filter);
  const times = { from: utc(wanted.from), to: utc(wanted.to) };
  const within = await rangeOf(sql, trail, { ...wanted, ...times }, size);
  const selection = { ...conditionsOf(filter), ...times };
  const part =
    mode === null
      ? await csvPart(sql, trail, selection, { range: within, most: mostRows })
      : { range: within, next: null };
  return {
    terms: {
      ...{ trail, epoch, size, from_seq: part.range.from, to_seq: part.range.to, filter, mode },
      ...{ from: times.from ?? null, to: times.to ?? null, ...formOf(wanted) },
    },
    next: part.next,
  };
}

const formOf = ({
  format = 'jsonl',
  disclose = 'none',
}: WantedExport): Pick<ExportTerms, 'format' | 'disclose'> => ({
  format,
  disclose,
});

/** Lines for which a filter on mailbox or approval cannot be proven: older ones name neither. */
export async function undecidableOf(
  sql: Sql,
  { trail, from_seq: from, to_seq: to, mode, filter }: ExportTerms,
): Promise<number> {
  const isAsked = mode !== null && (filter?.mailbox_id ?? filter?.approval_id) !== undefined;
  return isAsked ? await countOlder(sql, trail, { from, to }) : 0;
}

function filterOf(wanted: WantedExport): FileFilter | null {
  const named = [...PUBLIC_FILTERS, ...DERIVED_FILTERS].flatMap((name) =>
    wanted[name] === undefined ? [] : [[name, wanted[name]] as const],
  );
  return named.length === 0 ? null : Object.fromEntries(named);
}

/** Null for CSV. Throws `invalid_request` for a mode that cannot prove what its name says. */
function modeOf({ format, mode }: WantedExport, filter: FileFilter | null): FileMode | null {
  if (format === 'csv') {
    if (mode !== undefined) throw badMode('A CSV proves nothing, so it has no mode.');
    return null;
  }
  if (filter === null) {
    if (mode !== undefined && mode !== 'complete')
      throw badMode(`${mode} needs a filter; use complete, or name one.`);
    return 'complete';
  }
  const isDerived = DERIVED_FILTERS.some((name) => filter[name] !== undefined);
  if (isDerived && mode !== undefined && mode !== 'sparse')
    throw badMode(
      'outcome and resource are not part of the signed lines: a file cannot prove that no line with them is missing. Use mode=sparse, ' +
        'which proves the lines that it shows, or leave these two out.',
    );
  if (mode === 'complete')
    throw badMode(
      'complete shows every line with its data: leave out the filter, or use skeleton, the default with a filter.',
    );
  return mode ?? (isDerived ? 'sparse' : 'skeleton');
}

/** The lines asked for, as far as they are sealed. */
async function rangeOf(
  sql: Sql,
  trail: string,
  { from, to, from_seq: first = 1, to_seq: last }: WantedExport,
  size: number,
): Promise<SeqRange> {
  const start = Math.min(first, size + 1);
  const within = { from: start, to: Math.max(start - 1, Math.min(last ?? size, size)) };
  return from === undefined && to === undefined
    ? within
    : await rangeOfTimes(sql, trail, { from, to }, within);
}

interface Part {
  readonly range: SeqRange;
  readonly next: BegunExport['next'];
}

/** As many lines as one part of a CSV has rows for. */
async function csvPart(
  sql: Sql,
  trail: string,
  filter: AuditFilter,
  { range, most }: { readonly range: SeqRange; readonly most: number },
): Promise<Part> {
  const { last } = await countOf(sql, trail, { filter, range, most });
  const rest = { from: (last ?? range.to) + 1, to: range.to };
  const { count } = await countOf(sql, trail, { filter, range: rest, most: 1 });
  return count === 0 ? { range, next: null } : { range: { from: range.from, to: rest.from - 1 }, next: rest };
}

const utc = (instant: string | undefined): string | undefined =>
  instant === undefined ? undefined : new Date(instant).toISOString();

const badMode = (message: string): GatewayError => badInput('mode', message);

export const badInput = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { details: { issues: [{ path, code: 'custom', message }] } });

const noLines = (): GatewayError =>
  new GatewayError('seal_behind', 'The trail has no sealed lines yet; ask again shortly.', {
    retryAfterSeconds: 5,
  });
