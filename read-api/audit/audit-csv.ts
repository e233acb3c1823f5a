/** Lines of the audit trail as CSV (RFC 4180), for reading: it proves nothing. */
import type { Sql } from '../../commands/ports/ports.ts';
import { linesIn } from '../../projections/audit-export.ts';
import { type AuditLine, lineWith } from './audit-line.ts';
import type { LineReader } from './export-plan.ts';
import { closedTexts, openTexts } from './line-texts.ts';

/** Rows of one part; spreadsheets take few more. */
export const MOST_ROWS = 1_000_000;

const BOM = '\u{feff}';
/** A spreadsheet takes such a cell for a formula. */
const BEGINS_FORMULA = /^[=+\-@＝＋－＠\t\r\n\0]/;

/** A cell that no spreadsheet runs as a formula, or parts at another character than the comma. */
export function csvCell(value: string | number | null | undefined): string {
  const text = value === null || value === undefined ? '' : String(value);
  const safe = BEGINS_FORMULA.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

const COLUMNS: Readonly<Record<string, (line: AuditLine) => string | number | null | undefined>> = {
  seq: ({ seq }) => seq,
  id: ({ id }) => id,
  occurred_at: ({ occurred_at: at }) => at,
  type: ({ type }) => type,
  action: ({ action }) => action,
  outcome: ({ outcome }) => outcome,
  actor_type: ({ actor }) => actor.type,
  actor_id: ({ actor }) => actor.id,
  token_id: ({ actor }) => actor.token_id,
  session_id: ({ actor }) => actor.session_id,
  ip: ({ actor }) => actor.ip,
  user_agent: ({ actor }) => actor.user_agent,
  surface: ({ surface }) => surface,
  request_id: ({ request_id: requestId }) => requestId,
  resource_type: ({ resource }) => resource?.type,
  resource_id: ({ resource }) => resource?.id,
  mailbox_id: ({ mailbox_id: mailboxId }) => mailboxId,
  approval_id: ({ approval_id: approvalId }) => approvalId,
  data: ({ data }) => data && JSON.stringify(data),
  withheld: ({ withheld }) => withheld?.join(' '),
  erased: ({ erased }) => erased?.join(' '),
  leaf: ({ hash }) => hash,
};

const rowOf = (cells: readonly (string | number | null | undefined)[]): string =>
  `${cells.map(csvCell).join(',')}\r\n`;

/** The bytes of the file, as fast as it is read. */
export async function* auditCsv(
  sql: Sql,
  trail: string,
  seqs: AsyncIterable<readonly number[]>,
  reader: LineReader,
): AsyncGenerator<Buffer> {
  yield Buffer.from(`${BOM}${rowOf(Object.keys(COLUMNS))}`);
  for await (const lines of linesIn(sql, trail, seqs)) {
    let rows = '';
    for (const { entry } of lines) {
      const texts = reader.opens ? await openTexts(reader.sight, entry) : closedTexts(reader.sight, entry);
      const line = lineWith(entry, texts, reader.maySeeBody(entry));
      rows += rowOf(Object.values(COLUMNS).map((cellOf) => cellOf(line)));
    }
    yield Buffer.from(rows);
  }
}
