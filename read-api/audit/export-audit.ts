/** GET /audit/export: lines of the trail as a file that anyone can verify offline, or as CSV for reading. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  auditExport,
  DISCLOSURES,
  EXPORT_FORMATS,
  type ExportTerms,
  FILE_MODES,
  type RecordedExport,
  recordExport,
} from '../../commands/audit/export-events.ts';
import { operationsVisibleTo } from '../../commands/approvals/operation-sight.ts';
import { lacks } from '../../commands/kernel/authorize.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { decideAndAppend, loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { ByteAnswer } from '../../commands/values/byte-streams.ts';
import { canonicalJson } from '../../commands/values/canonical-json.ts';
import { notFound } from '../../commands/values/errors.ts';
import { InstantField, lineOfText } from '../../commands/values/input-fields.ts';
import { audit } from '../../projections/audit.ts';
import { countErasedIn } from '../../projections/erasure-records.ts';
import { checkpointKey } from '../../projections/projection.ts';
import { AuditOutcomeField, maySeeData } from './audit-line.ts';
import { badInput, beginExport, type BegunExport, linesUpTo, undecidableOf } from './begin-export.ts';
import { countedSeals } from './counted-seals.ts';
import { differs, exportBytes, linesOf } from './export-bytes.ts';
import type { LineReader } from './export-plan.ts';
import { mailboxesReadWholly, sightOfTexts } from './line-texts.ts';

/** Ids and names: an export is a line of the trail, and its filter is in that line as it is. */
const name = z
  .string()
  .regex(/^[\w.:/-]{1,100}$/, 'An id or a name: letters, digits and _ . : / - only.')
  .optional();

const Input = z.strictObject({
  format: z
    .enum(EXPORT_FORMATS)
    .optional()
    .describe('jsonl, the default, can be verified; csv is for reading.'),
  from: InstantField.optional().describe('Included.'),
  to: InstantField.optional().describe('Not included.'),
  from_seq: z.int().min(1).optional().describe('The first line.'),
  to_seq: z
    .int()
    .min(1)
    .optional()
    .describe('The last line. Lines that are not sealed within 5 s: 503 seal_behind.'),
  actor: name.describe('The id of who acted.'),
  type: name.describe('An event type.'),
  mailbox_id: name,
  request_id: name,
  approval_id: name,
  outcome: AuditOutcomeField.optional().describe('Only with mode sparse.'),
  resource: name.describe('The id of what it was done to, or of an approval. Only with mode sparse.'),
  mode: z
    .enum(FILE_MODES)
    .optional()
    .describe(
      'complete: every line, without a filter. skeleton, the default with a filter: other lines without their data, which proves that no ' +
        'matching line is missing. sparse: other lines only as hashes, which does not.',
    ),
  disclose: z
    .enum(DISCLOSURES)
    .optional()
    .describe(
      'none, the default: sealed texts stay sealed. people: texts open as in GET /audit. all: those of every mailbox too, for an owner ' +
        '(audit:disclose) who gives a reason.',
    ),
  reason: lineOfText(1_000).optional().describe('With disclose=all; kept encrypted in the trail.'),
  export_id: name.describe(
    'An earlier export (Audit-Export-Id), for the rest of its bytes with Range. Alone.',
  ),
});
type Input = z.output<typeof Input>;

export const exportAudit = defineCapability<Input, ByteAnswer>({
  name: 'export_audit',
  title: 'Export the audit trail',
  summary: 'Sealed lines of the audit trail as a file, streamed.',
  description:
    'JSONL with a signed checkpoint: anyone can verify it offline (docs/audit-format.md). CSV for reading. The export is a line of the ' +
    'trail itself. With export_id, Range gives the rest of an interrupted file; without it, Range is ignored.',
  effect: 'read',
  access: {
    any: ['audit:export'],
    needs: ({ disclose }) => (disclose === 'all' ? ['audit:export', 'audit:disclose'] : ['audit:export']),
  },
  rest: {
    method: 'get',
    path: '/audit/export',
    answerBytes: ['application/x-ndjson', 'text/csv'],
    noHead: true,
    headers: [
      ...['Audit-Export-Id', 'Audit-Export-Mode', 'Audit-Export-Size', 'Audit-Lines-Total'],
      ...['Audit-Lines-Undecidable', 'Link'],
    ],
  },
  tool: null,
  errors: ['rate_limited', 'seal_behind', 'index_building', 'version_conflict'],
  idempotency: { kind: 'none' },
  input: Input,
  output: ByteAnswer,
  handle: async (input, context) => {
    if (input.export_id !== undefined) return await resumed(context, input.export_id, input);
    return await begun(context, input);
  },
});

async function begun(context: Context, input: Input): Promise<ByteAnswer> {
  const { reason } = input;
  const { ports, caller, author, writer } = context;
  const disclosesAll = input.disclose === 'all';
  if (disclosesAll !== (reason !== undefined))
    throw badInput('reason', 'A reason goes with disclose=all, and only with it.');
  // A file of all lines has what its reader did last.
  if (input.to_seq === undefined) await linesUpTo(ports.readModels, await ports.events.headPosition());
  const started = await beginExport({ sql: ports.sql, seals: countedSeals(ports) }, caller.org.id, input);
  const version = await versionOf(context, started.terms);
  const sealed = reason === undefined ? null : await ports.personal.seal(author.actor.id, reason);
  const exportId = ports.ids.newId('aex');
  const { state, position } = await decideAndAppend(writer, author, auditExport, {
    id: exportId,
    decide: () => recordExport({ ...started.terms, version }, sealed),
  });
  context.notePosition(position);
  if (state.recorded === null) throw new Error(`${exportId} was not recorded`);
  const answer = await answerOf(context, exportId, state.recorded);
  return { ...answer, isNew: true, headers: { ...answer.headers, ...headersOf(started, input) } };
}

/** The same bytes again, for the one who began it. Throws `not_found`, `step_up_required`, and `version_conflict` when they would differ. */
async function resumed(context: Context, exportId: string, input: Input): Promise<ByteAnswer> {
  const { ports, caller, author } = context;
  const others = Object.keys(input).filter((field) => field !== 'export_id');
  if (others.length > 0)
    throw badInput(others[0] ?? '', 'export_id stands alone: the rest was decided when the export began.');
  const { state } = await loadAggregate(ports.events, auditExport, exportId);
  const { recorded } = state;
  if (!exportId.startsWith('aex_') || recorded?.terms.approval_id !== undefined || recorded === null)
    throw notFound('export');
  if (recorded.createdBy !== author.actor.id || recorded.terms.trail !== caller.org.id)
    throw notFound('export');
  if (recorded.terms.disclose === 'all' && !caller.orgScopes.has('audit:disclose'))
    throw lacks(caller, ['audit:disclose']);
  if (recorded.terms.version !== (await versionOf(context, recorded.terms))) throw differs();
  return await answerOf(context, exportId, recorded);
}

/** What the bytes depend on besides the terms: the rights of the caller, erasures of owners in the trail, and how the read model derives lines. */
async function versionOf(
  { ports, caller }: Context,
  { trail, size, disclose }: Pick<ExportTerms, 'trail' | 'size' | 'disclose'>,
): Promise<string> {
  const { approverRoles, isPerson } = operationsVisibleTo(caller, ports.directory.state);
  const seen = { role: caller.role, mailboxes: caller.token.mailboxIds };
  const opened =
    disclose === 'none'
      ? null
      : {
          ...{ approverRoles, isPerson, erased: await countErasedIn(ports.sql, trail, size) },
          mailboxes: mailboxesReadWholly(caller),
        };
  return createHash('sha256')
    .update(canonicalJson([checkpointKey(audit), seen, opened]))
    .digest('base64url');
}

const readerOf = (context: Context, { disclose }: ExportTerms): LineReader => {
  // What the version counts as erased must not open by a key that this process still has.
  const sight = { ...sightOfTexts(context), personal: context.ports.personal.afresh() };
  return {
    maySeeBody: (entry) => maySeeData(context.caller, entry),
    sight: disclose === 'all' ? { ...sight, mayOpen: () => Promise.resolve(true) } : sight,
    opens: disclose !== 'none',
  };
};

type Headers = Readonly<Record<string, string>>;

/** Where the lines are that did not fit. */
export function headersOf({ next }: Pick<BegunExport, 'next'>, input: Input): Headers {
  const query = Object.entries({ ...input, from_seq: next?.from, to_seq: next?.to }).map(
    ([field, value]): [string, string] => [field, String(value)],
  );
  const link = `</api/v1/audit/export?${new URLSearchParams(query).toString()}>; rel="next"`;
  return next === null ? {} : { Link: link };
}

/** Of files that were read to their end: the bytes they have. */
const lengths = new BoundedMap<string, number>(1_000);

async function answerOf(context: Context, exportId: string, recorded: RecordedExport): Promise<ByteAnswer> {
  const { sql } = context.ports;
  const { terms } = recorded;
  const reader = readerOf(context, terms);
  const undecidable = await undecidableOf(sql, terms);
  async function* bytes(from: number, gone?: AbortSignal): AsyncGenerator<Buffer> {
    let length = 0;
    for await (const piece of exportBytes(sql, recorded, reader)) {
      gone?.throwIfAborted();
      const skipped = Math.min(piece.length, Math.max(0, from - length));
      length += piece.length;
      if (skipped < piece.length) yield piece.subarray(skipped);
    }
    lengths.set(exportId, length);
  }
  return {
    contentType: terms.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson',
    filename: `audit-${terms.trail}-${String(terms.from_seq)}-${String(terms.to_seq)}.${terms.format}`,
    knownLength: null,
    etag: `"${exportId}"`,
    headers: {
      'Audit-Export-Id': exportId,
      'Audit-Export-Size': String(terms.size),
      'Audit-Lines-Total': String(await linesOf(sql, terms)),
      ...(terms.mode === null ? {} : { 'Audit-Export-Mode': terms.mode }),
      ...(undecidable === 0 ? {} : { 'Audit-Lines-Undecidable': String(undecidable) }),
    },
    length: async (gone) => {
      const known = lengths.get(exportId);
      if (known !== undefined) return known;
      let length = 0;
      for await (const piece of bytes(0, gone)) length += piece.length;
      return length;
    },
    read: bytes,
  };
}
