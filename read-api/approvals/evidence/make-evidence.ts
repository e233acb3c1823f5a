/** The file of evidence of one approval (`docs/audit-format.md` 9): its lines, what they are about, and what of it this reader sees. */
import type { Context } from '../../../commands/kernel/capability.ts';
import { streamOf } from '../../../commands/kernel/decide-and-append.ts';
import { session } from '../../../commands/accounts/session.ts';
import { draft } from '../../../commands/drafts/draft.ts';
import { PersonalDataErased } from '../../../commands/kernel/personal-data.ts';
import { operation, type OperationState } from '../../../commands/operations/operation.ts';
import { policy } from '../../../commands/policy/policy-events.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { laterOf, type Position } from '../../../commands/values/position.ts';
import { type ExportedLine, linesIn, type NeededLine } from '../../../projections/audit-export.ts';
import { placesOf, readsOfApproval } from '../../../projections/audit-places.ts';
import { auditFile, type FileContent, type FileHeader } from '../../audit/audit-file.ts';
import { linesUpTo } from '../../audit/begin-export.ts';
import { type Checkpoint, checkpointAt } from '../../audit/checkpoints.ts';
import { countedSeals } from '../../audit/counted-seals.ts';
import { inParts, type LineReader, neededLines, shownTo } from '../../audit/export-plan.ts';
import { CLIENT_AT, type LineTexts, sealedTexts, type TextSight } from '../../audit/line-texts.ts';
import { type ApprovalStreams, evidenceEvents, votingSessions } from './evidence-events.ts';
import type { EvidenceLine } from './evidence-facts.ts';

export interface EvidencedApproval {
  readonly approvalId: string;
  readonly operationId: string;
  readonly state: OperationState;
}

/** Reads every stream that has to do with it. Throws `store_unavailable`. */
async function approvalStreams(
  { events }: Pick<Ports, 'events'>,
  { operationId, state }: EvidencedApproval,
  orgId: string,
): Promise<ApprovalStreams> {
  const own = await events.readStream(streamOf(operation, operationId));
  const draftId = state.approval?.requested.draft_id ?? null;
  const [ofDraft, ofPolicy, ...sessions] = await Promise.all([
    draftId === null ? [] : events.readStream(streamOf(draft, draftId)),
    events.readStream(streamOf(policy, orgId)),
    ...votingSessions(own).map((id) => events.readStream(streamOf(session, id))),
  ]);
  return { operation: own, draft: ofDraft, policy: ofPolicy, sessions };
}

/** The lines of the approval in the trail, in order. Throws `seal_behind` when the newest are not there in time. */
async function placesIn(
  { sql, readModels }: Pick<Ports, 'sql' | 'readModels'>,
  streams: ApprovalStreams,
  { trail, approvalId }: { readonly trail: string; readonly approvalId: string },
): Promise<readonly number[]> {
  const events = evidenceEvents(streams);
  const last = events.reduce<Position | null>((latest, { position }) => laterOf(latest, position), null);
  if (last !== null) await linesUpTo(readModels, last);
  const places = await placesOf(
    sql,
    trail,
    events.map(({ id }) => id),
  );
  const reads = await readsOfApproval(sql, trail, approvalId);
  return [...new Set([...places.values(), ...reads])].toSorted((a, b) => a - b);
}

export interface SealedApproval {
  readonly streams: ApprovalStreams;
  readonly checkpoint: Checkpoint;
  /** Its lines below the checkpoint. */
  readonly seqs: readonly number[];
}

/** Seals what happened to the approval so far. Throws `rate_limited`, `seal_behind` and `store_unavailable`. */
export async function sealedApproval(
  ports: Pick<Ports, 'events' | 'sql' | 'readModels' | 'seals' | 'attempts'>,
  approval: EvidencedApproval,
  trail: string,
): Promise<SealedApproval> {
  const streams = await approvalStreams(ports, approval, trail);
  const seqs = await placesIn(ports, streams, { trail, approvalId: approval.approvalId });
  await countedSeals(ports).sealNow(trail, seqs.at(-1) ?? 0);
  const checkpoint = await checkpointAt(ports.sql, trail, 'latest');
  if (checkpoint === null) throw new Error(`${trail} was sealed and has no checkpoint`);
  return { streams, checkpoint, seqs: seqs.filter((seq) => seq <= checkpoint.size) };
}

/** Whose texts the lines hold: the file says of these whether their key was erased, and of nobody else. */
async function ownersIn(
  { sql, personal }: Pick<Ports, 'sql' | 'personal'>,
  trail: string,
  seqs: readonly number[],
): Promise<ReadonlySet<string | null>> {
  const owners = new Set<string | null>();
  for await (const lines of linesIn(sql, trail, inParts(seqs)))
    for (const { entry } of lines)
      for (const { sealed } of sealedTexts(entry)) owners.add(personal.ownerOf(sealed));
  return owners;
}

export interface EvidenceFile {
  readonly bytes: Buffer;
  readonly lines: readonly EvidenceLine[];
}

/** Kept in memory: an approval has tens of lines. */
export async function evidenceFile(
  { ports, caller }: Pick<Context, 'ports' | 'caller'>,
  header: FileHeader,
  of: {
    readonly seqs: readonly number[];
    readonly contents: readonly FileContent[];
    readonly reader: LineReader;
  },
): Promise<EvidenceFile> {
  const { sql } = ports;
  const owners = await ownersIn(ports, header.trail, of.seqs);
  const isNeeded = ({ type, resourceId }: NeededLine): boolean =>
    type !== PersonalDataErased.type || owners.has(resourceId);
  const needed = await neededLines(sql, header.trail, header.size, isNeeded);
  const seesClients = caller.orgScopes.has('audit:read');
  const lines: EvidenceLine[] = [];
  const show = async (line: ExportedLine): Promise<Pick<LineTexts, 'opened' | 'erased'> | null> => {
    const shown = await shownTo(of.reader, line.entry);
    if (shown === null) return null;
    const opened = shown.opened.filter(({ at }) => seesClients || at !== CLIENT_AT);
    const { stream } = JSON.parse(line.line) as { readonly stream: string };
    const texts = new Map(opened.map(({ at, text }) => [at, text]));
    lines.push({ ...line.entry, streamName: stream, texts });
    return { ...shown, opened };
  };
  const all = [...new Set([...needed.seqs, ...of.seqs])].toSorted((a, b) => a - b);
  const pieces: Buffer[] = [];
  const plan = { seqs: inParts(all), checkpoints: needed.checkpoints, contents: of.contents, show };
  for await (const piece of auditFile(sql, header, plan)) pieces.push(piece);
  return { bytes: Buffer.concat(pieces), lines };
}

/** Who sees an approval sees the texts of its mailbox in its lines, whatever grants they have there. */
export const withMailbox = (sight: TextSight, mailboxId: string | null): TextSight => ({
  ...sight,
  mayOpen: async (line, ownerId) => ownerId === mailboxId || (await sight.mayOpen(line, ownerId)),
});
