/** The bytes of an export: decided by what was recorded of it, so that the rest of an interrupted one can be had later. */
import type { ExportTerms, RecordedExport } from '../../commands/audit/export-events.ts';
import { vkeyOf } from '../../commands/audit/signed-note.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { countOf, type SeqRange, seqsOf } from '../../projections/audit-export.ts';
import type { AuditFilter } from '../../projections/audit-queries.ts';
import { auditCsv } from './audit-csv.ts';
import { auditFile, type FileHeader } from './audit-file.ts';
import { checkpointOf } from './checkpoints.ts';
import { conditionsOf, exportPlan, type LineReader } from './export-plan.ts';

const rangeOf = ({ from_seq: from, to_seq: to }: ExportTerms): SeqRange => ({ from, to });

/** What selects its lines within the range. */
const selectionOf = ({ filter, from, to }: ExportTerms): AuditFilter => ({
  ...conditionsOf(filter),
  from: from ?? undefined,
  to: to ?? undefined,
});

/** The file, as fast as it is read. Throws `version_conflict` when its checkpoint is no longer that of its size. */
export async function* exportBytes(
  sql: Sql,
  recorded: RecordedExport,
  reader: LineReader,
): AsyncGenerator<Buffer> {
  const { terms } = recorded;
  const { trail, size, mode, filter } = terms;
  const range = rangeOf(terms);
  const selection = selectionOf(terms);
  if (mode === null) {
    yield* auditCsv(sql, trail, seqsOf(sql, trail, selection, range), reader);
    return;
  }
  const header = await headerOf(sql, recorded, mode);
  const plan = await exportPlan(sql, { trail, size, range, mode, filter, selection }, reader);
  yield* auditFile(sql, header, plan);
}

/** How many lines of the range the file shows. */
export async function linesOf(sql: Sql, terms: ExportTerms): Promise<number> {
  const { mode, trail } = terms;
  const { from, to } = rangeOf(terms);
  if (mode === 'complete' || mode === 'skeleton') return to - from + 1;
  const selected = { filter: selectionOf(terms), range: { from, to }, most: null };
  return (await countOf(sql, trail, selected)).count;
}

async function headerOf(
  sql: Sql,
  { terms, createdAt, createdBy, requestId }: RecordedExport,
  mode: FileHeader['mode'],
): Promise<FileHeader> {
  const { trail, epoch, size, filter } = terms;
  const checkpoint = await checkpointOf(sql, trail, size);
  if (checkpoint?.epoch !== epoch) throw differs();
  const { origin, note } = checkpoint;
  return {
    ...{ kind: 'export', mode, trail, epoch, origin, note, size, createdAt, createdBy, requestId },
    ...{ fromSeq: terms.from_seq, toSeq: terms.to_seq },
    vkeys: await vkeysOf(sql, trail, origin),
    filter: filter && (Object.fromEntries(Object.entries(filter)) as Record<string, string>),
  };
}

/** The public keys of a trail, named by an origin. */
export async function vkeysOf(sql: Sql, trail: string, origin: string): Promise<readonly string[]> {
  const rows = await sql.query<{ public_key: Buffer }>(
    'select public_key from vault.audit_key where trail = $1 order by created_at, public_key',
    [trail],
  );
  return rows.map(({ public_key: publicKey }) => vkeyOf({ name: origin, publicKey }));
}

/** The refusal of the rest of a file that would not fit its beginning. */
export const differs = (): GatewayError =>
  new GatewayError(
    'version_conflict',
    'The file would differ from the one that was begun: since then texts were erased, your rights changed, or the trail was sealed again. ' +
      'Begin a new export.',
  );
