/** Exports a trail into a file, and continues a file that was interrupted: it makes the same bytes again and compares them first. */
import { type FileHandle, open, rename } from 'node:fs/promises';
import { isTrail } from '../../commands/audit/audit-line.ts';
import { auditExport, type RecordedExport, recordExport } from '../../commands/audit/export-events.ts';
import { decideAndAppend, loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { canonicalJson } from '../../commands/values/canonical-json.ts';
import { isMailboxId, withPrefix } from '../../commands/values/ids.ts';
import type { Sealed } from '../../commands/values/sealed.ts';
import { beginExport, exportAt, type WantedExport } from '../../read-api/audit/begin-export.ts';
import { exportBytes, linesOf } from '../../read-api/audit/export-bytes.ts';
import type { LineReader } from '../../read-api/audit/export-plan.ts';
import { adminAuthor } from './call-command.ts';

type ExportPorts = Pick<Ports, 'sql' | 'events' | 'ids' | 'clock' | 'personal' | 'seals'>;

export interface ExportArguments {
  readonly trail: string;
  readonly out: string;
  readonly wanted: WantedExport;
  /** Why every text is opened. */
  readonly reason: string | undefined;
}

export interface Terminal {
  /** Lines written so far, of all. */
  readonly report: (lines: number, total: number) => void;
  readonly signal: AbortSignal;
}

/** Returns text for the terminal. Throws one sentence. */
export async function exportCommand(
  ports: ExportPorts,
  { trail, out, wanted, reason }: ExportArguments,
  terminal: Terminal,
): Promise<string> {
  if (!isTrail(trail)) throw new Error('Name a trail: org_…, usr_…, or system.');
  if ((wanted.disclose === 'all') !== (reason !== undefined))
    throw new Error('--disclose all takes a reason with --reason, and nothing else does.');
  const part = `${out}.part`;
  await using file = await open(part, 'a+', 0o600);
  const recorded =
    (await interrupted(ports, file, { part, trail, wanted, reason })) ??
    (await begun(ports, trail, { wanted, reason }));
  const kept = recorded.isContinued ? (await file.stat()).size : 0;
  if (kept === 0) await file.truncate(0);
  const total = await linesOf(ports.sql, recorded.export.terms);
  const bytes = exportBytes(ports.sql, recorded.export, readerOf(ports, wanted));
  await write(file, bytes, { kept, part, total, terminal });
  await rename(part, out);
  const next =
    recorded.nextSeq === null ? '' : ` The next part begins with --from-seq ${String(recorded.nextSeq)}.`;
  return `${out} has ${total.toLocaleString('en')} lines of ${trail}${kept > 0 ? ', continued' : ''}.${next}`;
}

interface Begun {
  readonly export: RecordedExport;
  readonly isContinued: boolean;
  /** Of a CSV with more rows than one part has. */
  readonly nextSeq: number | null;
}

async function begun(
  ports: ExportPorts,
  trail: string,
  { wanted, reason }: Pick<ExportArguments, 'wanted' | 'reason'>,
): Promise<Begun> {
  const { terms, next } = await beginExport(ports, trail, wanted);
  const author = adminAuthor(ports, trail.startsWith('org_') ? trail : null);
  const id = withPrefix('aex', author.requestId);
  const sealed = reason === undefined ? null : await ports.personal.seal(id, reason);
  const { state } = await decideAndAppend(ports, author, auditExport, {
    id,
    decide: () => recordExport({ ...terms, version: 'operator' }, sealed),
  });
  if (state.recorded === null) throw new Error(`The export ${id} could not be recorded.`);
  return { export: state.recorded, isContinued: false, nextSeq: next?.from ?? null };
}

const readerOf = ({ personal }: ExportPorts, { disclose = 'none' }: WantedExport): LineReader => ({
  maySeeBody: () => true,
  sight: {
    personal,
    mayOpen: (_, ownerId) => Promise.resolve(disclose === 'all' || !isMailboxId(ownerId)),
  },
  opens: disclose !== 'none',
});

/** A header is much shorter. */
const HEADER_BYTES = 64 * 1024;
const BEGINNINGS = { jsonl: '{"checkpoint":', csv: '\u{feff}seq,id,' } as const;

interface Wanted extends Omit<ExportArguments, 'out'> {
  readonly part: string;
}

/** What an interrupted file was begun as. Null for none, where it breaks off in its header, and for a CSV, which has no header. */
async function interrupted(ports: ExportPorts, file: FileHandle, wanted: Wanted): Promise<Begun | null> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
  const head = buffer.subarray(0, bytesRead);
  const form = formOf(wanted);
  const beginning = Buffer.from(BEGINNINGS[form]).subarray(0, bytesRead);
  if (!head.subarray(0, beginning.length).equals(beginning)) throw foreign(wanted);
  const end = head.indexOf(LF);
  if (end < 0 || form === 'csv') return null;
  const id = exportIdIn(head.toString('utf8', 0, end));
  if (id === null) throw foreign(wanted);
  const { state } = await loadAggregate(ports.events, auditExport, id);
  if (state.recorded === null) throw foreign(wanted);
  await assertSame(ports, { recorded: state.recorded, reason: state.reason }, wanted);
  return { isContinued: true, nextSeq: null, export: state.recorded };
}

/** An export of this command has the id of its request, which is in the header. Null for another text. */
function exportIdIn(header: string): string | null {
  const found = /"request_id":"(req_[0-9a-z]{26})"/.exec(header)?.[1];
  return found === undefined ? null : withPrefix('aex', found);
}

/** Throws one sentence when the command is not the one that began the export: its terms and reason are lines of the trail. */
async function assertSame(
  { sql, personal }: ExportPorts,
  begun: { readonly recorded: RecordedExport; readonly reason: Sealed | null },
  { part, trail, wanted, reason }: Wanted,
): Promise<void> {
  const { terms } = begun.recorded;
  if (terms.trail !== trail) throw new Error(`${part} is of the trail ${terms.trail}; move it away first.`);
  const asked = await exportAt(sql, terms, wanted);
  const isSame =
    canonicalJson({ ...asked.terms, version: terms.version }) === canonicalJson(terms) &&
    (begun.reason === null ? undefined : await personal.open(begun.reason)) === reason;
  if (!isSame)
    throw new Error(
      `${part} was begun with other arguments: repeat the command with those, or move the file away first.`,
    );
}

const formOf = ({ wanted }: Wanted): keyof typeof BEGINNINGS => (wanted.format === 'csv' ? 'csv' : 'jsonl');

const foreign = (wanted: Wanted): Error =>
  new Error(`${wanted.part} is no unfinished ${formOf(wanted)} file of this command; move it away first.`);

interface Progress {
  /** Bytes that are there already. */
  readonly kept: number;
  readonly part: string;
  readonly total: number;
  readonly terminal: Terminal;
}

async function write(
  file: FileHandle,
  pieces: AsyncIterable<Buffer>,
  { kept, part, total, terminal }: Progress,
): Promise<void> {
  let length = 0;
  let lines = -1;
  for await (const piece of pieces) {
    terminal.signal.throwIfAborted();
    const known = Math.min(piece.length, Math.max(0, kept - length));
    if (!(await isThere(file, piece.subarray(0, known), length)))
      throw new Error(
        `${part} is not what the trail shows now, or it was begun with other arguments. Delete it and begin again.`,
      );
    if (known < piece.length) await file.appendFile(piece.subarray(known));
    length += piece.length;
    lines += countLines(piece);
    terminal.report(Math.min(Math.max(lines, 0), total), total);
  }
  await file.sync();
}

async function isThere(file: FileHandle, bytes: Buffer, at: number): Promise<boolean> {
  if (bytes.length === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(bytes.length), 0, bytes.length, at);
  return buffer.equals(bytes);
}

const LF = 10;

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
}
