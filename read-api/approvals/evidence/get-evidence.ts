/** GET /approvals/:approval_id/evidence: what became of one approval, as a file that proves it, or as a page for people with that file inside. */
import { z } from 'zod';
import {
  auditExport,
  type Disclosure,
  DISCLOSURES,
  EVIDENCE_FORMATS,
  type ExportTerms,
  type RecordedExport,
  recordExport,
} from '../../../commands/audit/export-events.ts';
import {
  operationsVisibleTo,
  sightIn,
  sightOf as sightOnOperation,
} from '../../../commands/approvals/operation-sight.ts';
import type { Caller } from '../../../commands/kernel/access.ts';
import { lacks } from '../../../commands/kernel/authorize.ts';
import { type Context, defineCapability } from '../../../commands/kernel/capability.ts';
import { decideAndAppend, loadAggregate } from '../../../commands/kernel/decide-and-append.ts';
import {
  operation,
  operationOfApproval,
  type OperationState,
} from '../../../commands/operations/operation.ts';
import { PolicySet } from '../../../commands/policy/policy-events.ts';
import { ByteAnswer } from '../../../commands/values/byte-streams.ts';
import { notFound } from '../../../commands/values/errors.ts';
import { lineOfText } from '../../../commands/values/input-fields.ts';
import type { AuditEntry } from '../../../projections/audit-queries.ts';
import { badInput } from '../../audit/begin-export.ts';
import type { FileContent, FileHeader } from '../../audit/audit-file.ts';
import { vkeysOf } from '../../audit/export-bytes.ts';
import { sightOfTexts, type TextSight } from '../../audit/line-texts.ts';
import { ApprovalId } from '../approval-access.ts';
import { evidenceContents, policyContent } from './evidence-contents.ts';
import { policyThatDecided } from './evidence-events.ts';
import { evidencePage } from './evidence-face.ts';
import {
  type EvidencedApproval,
  type EvidenceFile,
  evidenceFile,
  type SealedApproval,
  sealedApproval,
  withMailbox,
} from './make-evidence.ts';

const Input = z.strictObject({
  approval_id: ApprovalId,
  format: z
    .enum(EVIDENCE_FORMATS)
    .optional()
    .describe('jsonl, the default, can be verified; html is for reading and printing, with the file inside.'),
  disclose: z
    .enum(DISCLOSURES)
    .optional()
    .describe(
      'none: sealed texts and what the approval is about stay sealed. people, the default: what you may see of it. all: everything, for an ' +
        'owner (audit:disclose) who gives a reason.',
    ),
  reason: lineOfText(1_000).optional().describe('With disclose=all; kept encrypted in the trail.'),
});
type Input = z.output<typeof Input>;

export const approvalEvidence = defineCapability<Input, ByteAnswer>({
  name: 'get_approval_evidence',
  title: 'Get the evidence of an approval',
  summary: 'What was requested, who voted when, and what was done, in a file that proves it.',
  description:
    'Signed lines of the audit trail with the manifest, the preview, the policy and the message. Anyone can verify the JSONL offline ' +
    '(docs/audit-format.md 9). For who requested the approval or may decide it, and with audit:export. It is a line of the trail itself.',
  effect: 'read',
  access: {
    any: ['approvals:read', 'audit:export'],
    needs: ({ disclose }) => (disclose === 'all' ? ['audit:export', 'audit:disclose'] : []),
  },
  rest: {
    method: 'get',
    path: '/approvals/:approval_id/evidence',
    answerBytes: ['application/x-ndjson', 'text/html'],
    noRange: true,
    noHead: true,
  },
  tool: null,
  errors: ['rate_limited', 'seal_behind', 'index_building'],
  idempotency: { kind: 'none' },
  input: Input,
  output: ByteAnswer,
  handle: async (input, given) => {
    const context = withKeysAfresh(given);
    const disclosesAll = input.disclose === 'all';
    if (disclosesAll !== (input.reason !== undefined))
      throw badInput('reason', 'A reason goes with disclose=all, and only with it.');
    const approval = await evidencedApproval(context, input.approval_id);
    const bytes = await evidenceOf(context, approval, input);
    const isPage = input.format === 'html';
    return {
      contentType: isPage ? 'text/html; charset=utf-8' : 'application/x-ndjson',
      filename: `evidence-${input.approval_id}.${isPage ? 'html' : 'jsonl'}`,
      knownLength: bytes.length,
      isNew: true,
      length: () => Promise.resolve(bytes.length),
      read: (from) => inPieces(bytes.subarray(from)),
    };
  },
});

/** What was erased in another process opens in no file here. */
const withKeysAfresh = (context: Context): Context => {
  const { ports } = context;
  const personal = { ...ports.personal, ...ports.personal.afresh() };
  return { ...context, ports: { ...ports, personal } };
};

async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

interface Evidenced extends EvidencedApproval {
  /** The caller sees what it is about, as its requester, as who may decide it, or by a grant. */
  readonly isSeen: boolean;
}

/** Throws `not_found` for one that the caller may not know of, and `insufficient_scope`. */
async function evidencedApproval(context: Context, approvalId: string): Promise<Evidenced> {
  const { caller, ports } = context;
  const operationId = operationOfApproval(approvalId);
  const { state } = await loadAggregate(ports.events, operation, operationId);
  if (!approvalId.startsWith('chk_') || !isWithin(caller, state)) throw notFound('approval');
  const isSeen = caller.orgScopes.has('approvals:read') && (await sightOnOperation(context, state)) !== null;
  if (caller.orgScopes.has('audit:export') || (isSeen && hasPart(context, state)))
    return { approvalId, operationId, state, isSeen };
  throw isSeen ? lacks(caller, ['audit:export']) : notFound('approval');
}

/** An approval of the caller's organisation, on a mailbox that the token reaches. */
const isWithin = ({ org, token: { mailboxIds } }: Caller, state: OperationState): boolean =>
  state.approval !== null &&
  state.submitted?.orgId === org.id &&
  (mailboxIds === null || mailboxIds.includes(state.mailboxId ?? ''));

/** True for who requested it and for who may decide it: by more than a grant on the mailbox. */
function hasPart({ caller, ports }: Context, state: OperationState): boolean {
  const visible = operationsVisibleTo(caller, ports.directory.state);
  return sightIn({ ...visible, draftMailboxIds: [], messageMailboxIds: [] }, state) !== null;
}

async function evidenceOf(context: Context, approval: Evidenced, input: Input): Promise<Buffer> {
  const { ports, caller } = context;
  const { approvalId, state } = approval;
  const trail = caller.org.id;
  const disclose = input.disclose ?? 'people';
  const shows = disclose === 'all' || (disclose === 'people' && approval.isSeen);
  const sealed = await sealedApproval(ports, approval, trail);
  const { epoch, size, origin, note } = sealed.checkpoint;
  if (shows)
    await context.recordRead({
      ...{ mailboxId: state.mailboxId ?? '', messageIds: [], what: 'approval', approvalIds: [approvalId] },
    });
  const recorded = await recordedEvidence(context, sealed, { ...input, disclose });
  const contents = [
    ...(shows ? await evidenceContents(context, state, approvalId) : []),
    ...(seesPolicy(caller) ? policyContent(policyThatDecided(sealed.streams) ?? []) : []),
  ];
  const header: FileHeader = {
    ...{ kind: 'evidence', mode: 'sparse', trail, epoch, origin, note, size, filter: null, approvalId },
    ...{ fromSeq: recorded.terms.from_seq, toSeq: recorded.terms.to_seq },
    ...{ createdAt: recorded.createdAt, createdBy: recorded.createdBy, requestId: recorded.requestId },
    vkeys: await vkeysOf(ports.sql, trail, origin),
  };
  const sight = sightOf(context, { disclose, mailboxId: shows ? state.mailboxId : null });
  const maySeeBody = ({ type }: Pick<AuditEntry, 'type'>): boolean =>
    type !== PolicySet.type || seesPolicy(caller);
  const reader = { maySeeBody, sight, opens: disclose !== 'none' };
  const file = await evidenceFile(context, header, { seqs: sealed.seqs, contents, reader });
  return input.format === 'html' ? pageOf(context, header, { ...file, contents }) : file.bytes;
}

/** As for reading the policy itself: its rules name people and addresses. */
const seesPolicy = ({ orgScopes }: Caller): boolean => orgScopes.has('org:read');

/** The lines that the file is about, in the stream of a new export: evidence is a line of the trail. */
async function recordedEvidence(
  context: Context,
  { checkpoint: { trail, epoch, size }, seqs }: SealedApproval,
  { approval_id: approvalId, format = 'jsonl', disclose, reason }: Input & { readonly disclose: Disclosure },
): Promise<RecordedExport> {
  const { ports, author, writer } = context;
  const sealed = reason === undefined ? null : await ports.personal.seal(author.actor.id, reason);
  const terms: ExportTerms = {
    ...{ trail, epoch, size, from_seq: seqs[0] ?? 1, to_seq: seqs.at(-1) ?? 0 },
    ...{ filter: null, from: null, to: null, mode: 'sparse', disclose, format, version: '' },
    approval_id: approvalId,
  };
  const { state, position } = await decideAndAppend(writer, author, auditExport, {
    id: ports.ids.newId('aex'),
    decide: () => recordExport(terms, sealed),
  });
  if (state.recorded === null) throw new Error(`evidence of ${approvalId} was not recorded`);
  context.notePosition(position);
  return state.recorded;
}

/** Who sees the approval sees the texts of its mailbox in its lines. */
function sightOf(
  context: Context,
  { disclose, mailboxId }: { readonly disclose: Disclosure; readonly mailboxId: string | null },
): TextSight {
  const sight = sightOfTexts(context);
  return disclose === 'all'
    ? { ...sight, mayOpen: () => Promise.resolve(true) }
    : withMailbox(sight, mailboxId);
}

function pageOf(
  { ports }: Context,
  { trail, note, createdAt, approvalId = '' }: FileHeader,
  { bytes, lines, contents }: EvidenceFile & { readonly contents: readonly FileContent[] },
): Buffer {
  const { agents, people, organisations } = ports.directory.state;
  const preview = contents.find(({ name }) => name === 'preview.txt');
  const page = evidencePage({
    ...{ approvalId, lines, note, createdAt, file: bytes },
    organisation: organisations.get(trail)?.name ?? trail,
    preview: preview === undefined ? null : Buffer.from(preview.bytes).toString(),
    nameOf: (id) => (people.get(id) ?? agents.get(id))?.name,
  });
  return Buffer.from(page);
}
