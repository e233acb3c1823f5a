/** An approval as callers see it (`contract.md` 9). */
import { z } from 'zod';
import type { DirectoryState } from '../ports/directory.ts';
import { ACTOR_TYPES } from '../values/event.ts';
import { APPROVER_ROLES } from '../values/policy-document.ts';
import type { PersonalData } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import { approvalIdOf, OperationReply, replyOf } from './operation.ts';
import { OPERATION_STATES, progressIn } from './approval-reply.ts';
import { INVALIDATIONS } from './approval-events.ts';
import type { ApprovalRecord } from './approval-record.ts';
import { APPROVAL_STATUSES, type ApprovalStatus, isOpen, statusAt } from './approval-state.ts';
import { approvalFacts, ApprovalFacts, isOwnRequest } from './confirmation.ts';
import { openWarnings } from './approval-warnings.ts';
import { personBehind } from './eligible-approvers.ts';
import { Manifest, openManifest } from './manifest.ts';

const VoteOfApproval = z.object({
  by: z.string(),
  decision: z.enum(['approve', 'reject']),
  reason: z.string().nullable(),
  at: z.string(),
  content_hash: z.string(),
  own_request: z.boolean().describe('Requested in this person’s name.'),
});

const Execution = z.object({
  status: z
    .enum(OPERATION_STATES)
    .describe('waiting: the last attempt had no effect, and another may follow; not_run: none will.'),
  attempts: z.int(),
  results: OperationReply.shape.results,
  error: z.object({ code: z.string(), message: z.string() }).optional().describe('Of the last attempt.'),
});

/** Everything but the manifest, as in lists. */
export const ListedApproval = z.object({
  id: z.string(),
  status: z.enum(APPROVAL_STATUSES),
  action: z.string(),
  mailbox_id: z.string(),
  draft_id: z.string().optional(),
  operation_id: z.string(),
  requester: z.object({
    id: z.string(),
    kind: z.enum(ACTOR_TYPES),
    on_behalf_of: z.string().optional().describe('The person behind.'),
  }),
  reason: z.string().nullable(),
  content_hash: z.string().describe('Of the manifest: names exactly what would run.'),
  ...ApprovalFacts.shape,
  policy: z.object({ version: z.int(), rule_id: z.string() }),
  quorum: z.object({
    required: z.int(),
    approved: z.int(),
    approver_role: z.enum(APPROVER_ROLES).describe('The minimum role of an approver.'),
    exclude_owner: z.boolean().describe('The person behind the request may not decide it.'),
  }),
  votes: z.array(VoteOfApproval),
  created_at: z.string(),
  expires_at: z.string().describe('When the time for the next step is over.'),
  commit_by: z.string().optional().describe('Once granted: when the time to commit is over.'),
  commit_at: z.string().optional().describe('When the gateway commits automatically.'),
  run_by: z
    .object({
      id: z
        .string()
        .describe('The requester; a person with approvals:commit on the mailbox may also commit.'),
      until: z.string().nullable().describe('Null until it is granted.'),
      within_seconds: z.int().describe('Of the last approval.'),
    })
    .optional()
    .describe('Not run automatically: who has to commit it, and until when.'),
  ended_at: z.string().optional(),
  cancel_reason: z.string().nullable().optional(),
  invalidated: z
    .object({
      reason: z.enum(INVALIDATIONS),
      policy: z.object({ decision: z.string(), rule_id: z.string(), version: z.int() }).optional(),
    })
    .optional(),
  execution: Execution.optional().describe('Once a commit was begun.'),
  superseded_by: z.string().optional().describe('The approval that replaced it.'),
  names: z
    .record(z.string(), z.string())
    .describe('Of the people, agents and the mailbox named here by id, as they are called now.'),
});
export type ListedApproval = z.output<typeof ListedApproval>;

export const Approval = ListedApproval.extend({
  manifest: Manifest.nullable().describe('Null once the mailbox was erased.'),
});
export type Approval = z.output<typeof Approval>;

interface ApprovalView {
  readonly record: ApprovalRecord;
  readonly supersededBy: string | null;
  /** The time at which the status is computed. */
  readonly now: Date;
  /** The viewer; absent where there are several. */
  readonly viewerId?: string;
}

interface Parts {
  readonly personal: Pick<PersonalData, 'open'>;
  readonly directory: {
    readonly state: Pick<DirectoryState, 'agents' | 'mailboxes' | 'people' | 'policies'>;
  };
}

/** Text sealed under an erased key is null. Throws `store_unavailable`. */
export async function approvalPayload({ personal, directory }: Parts, view: ApprovalView): Promise<Approval> {
  const { record, supersededBy, now } = view;
  const { operationId, mailboxId, requested } = record;
  const { terms } = requested;
  const status = statusAt(record.status, record.expiresAt, now);
  const open = (text: Sealed | null): Promise<string | null> =>
    text === null ? Promise.resolve(null) : personal.open(text);
  const [manifest, warnings, reason, cancelReason, votes] = await Promise.all([
    openFixed(personal, requested),
    open(requested.warnings ?? null),
    open(record.reason),
    open(record.cancelReason),
    Promise.all(record.votes.map(async (vote) => ({ ...vote, reason: await open(vote.reason) }))),
  ]);
  const mailbox = directory.state.mailboxes.get(mailboxId);
  const requester = requesterOf(record.requester, directory.state);
  return {
    id: approvalIdOf(operationId),
    status,
    action: requested.action,
    mailbox_id: mailboxId,
    ...(requested.draft_id === null ? {} : { draft_id: requested.draft_id }),
    operation_id: operationId,
    requester,
    reason,
    content_hash: requested.content_hash,
    manifest,
    ...approvalFacts(directory.state, {
      ...{ manifest, mailbox, warnings: openWarnings(warnings) },
      isOwn: isOwnRequest(directory.state, record.requester, view.viewerId),
    }),
    policy: record.policy,
    quorum: {
      required: terms.quorum,
      approved: votes.filter(({ decision }) => decision === 'approve').length,
      approver_role: terms.approver_role,
      exclude_owner: terms.exclude_owner,
    },
    votes,
    created_at: record.requestedAt,
    ...momentsOf(record),
    ...runByOf(record, status),
    ...(record.status === 'cancelled' ? { cancel_reason: cancelReason } : {}),
    ...invalidationOf(record),
    ...executionOf(record, status),
    ...(supersededBy === null ? {} : { superseded_by: supersededBy }),
    names: {
      ...namesOf(directory.state, [requester.id, requester.on_behalf_of, ...votes.map(({ by }) => by)]),
      ...(mailbox === undefined ? {} : { [mailboxId]: mailbox.email }),
    },
  };
}

/** Null once it was erased. */
async function openFixed(
  personal: Parts['personal'],
  { manifest, content_hash }: ApprovalRecord['requested'],
): Promise<Manifest | null> {
  const text = await personal.open(manifest);
  return text === null ? null : openManifest(text, content_hash);
}

/** An approval as in lists. Throws `store_unavailable`. */
export async function listedApproval(parts: Parts, view: ApprovalView): Promise<ListedApproval> {
  const { manifest: _, ...listed } = await approvalPayload(parts, view);
  return listed;
}

/** Removed or erased principals have no name any more. */
export const namesOf = (
  { agents, people }: Pick<DirectoryState, 'agents' | 'people'>,
  ids: readonly (string | undefined)[],
): Approval['names'] =>
  Object.fromEntries(
    ids.flatMap((id = '') => {
      const named = agents.get(id) ?? people.get(id);
      return named === undefined ? [] : [[id, named.name]];
    }),
  );

const requesterOf = (
  by: { readonly id: string; readonly type: Approval['requester']['kind'] },
  state: Pick<DirectoryState, 'agents'>,
): Approval['requester'] => ({
  id: by.id,
  kind: by.type,
  ...(by.type === 'person' ? {} : { on_behalf_of: personBehind(state, by) }),
});

const momentsOf = ({ expiresAt, wasGranted, commitAt, endedAt }: ApprovalRecord) => ({
  expires_at: expiresAt,
  ...(wasGranted ? { commit_by: expiresAt } : {}),
  ...(commitAt === null ? {} : { commit_at: commitAt }),
  ...(endedAt === null ? {} : { ended_at: endedAt }),
});

/** An approval that the gateway does not commit lapses unless a caller commits it. */
function runByOf(
  { requested: { terms }, requester, wasGranted, commitAt, expiresAt }: ApprovalRecord,
  status: ApprovalStatus,
): Pick<Approval, 'run_by'> {
  if (!isOpen(status) || terms.auto_commit || commitAt !== null) return {};
  const until = wasGranted ? expiresAt : null;
  return { run_by: { id: requester.id, until, within_seconds: terms.commit_ttl } };
}

function invalidationOf({ invalidated }: ApprovalRecord): Pick<Approval, 'invalidated'> {
  if (invalidated === null) return {};
  const { reason, policy } = invalidated;
  if (policy === null) return { invalidated: { reason } };
  const { decision, rule_id, policy_version } = policy;
  return { invalidated: { reason, policy: { decision, rule_id, version: policy_version } } };
}

function executionOf(
  { operationId, attempts, error, results, counts }: ApprovalRecord,
  status: ApprovalStatus,
): Pick<Approval, 'execution'> {
  if (attempts === 0) return {};
  return {
    execution: {
      status: progressIn(status, counts),
      attempts,
      results: replyOf(operationId, results).results,
      ...(error === null ? {} : { error: { code: error.code, message: error.message } }),
    },
  };
}
