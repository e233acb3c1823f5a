/** An approval as callers see it (`contract.md` 9). */
import { z } from 'zod';
import type { DirectoryState } from '../ports/directory.ts';
import { ACTOR_TYPES } from '../values/event.ts';
import { APPROVER_ROLES } from '../values/policy-document.ts';
import type { PersonalData } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import { OperationReply, type OperationState, replyOf } from './operation.ts';
import { OPERATION_STATES } from './operation-progress.ts';
import { approvalIdOf } from './operation-id.ts';
import { INVALIDATIONS } from './approval-events.ts';
import {
  APPROVAL_STATUSES,
  type ApprovalEnd,
  type ApprovalState,
  type ApprovalStatus,
  endOf,
  isOpen,
  type Vote,
  wasGranted,
} from './approval-state.ts';
import { approvalFacts, ApprovalFacts, isOwnRequest } from './approval-facts.ts';
import { openWarnings } from './approval-warnings.ts';
import { personBehind } from './eligible-approvers.ts';
import { Manifest, openManifest } from './manifest.ts';
import { progressAt, approvalStatusOf } from './approval-reply.ts';

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

/** Everything but the manifest: what lists hold. */
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

export interface ApprovalView {
  readonly operationId: string;
  /** Of an operation that has an approval; targets and steps are not looked at. */
  readonly state: OperationState;
  readonly supersededBy: string | null;
  /** The status is the one of this moment. */
  readonly now: Date;
  /** Whom it is shown to; absent = to several. */
  readonly viewerId?: string;
}

interface Parts {
  readonly personal: Pick<PersonalData, 'open'>;
  readonly directory: {
    readonly state: Pick<DirectoryState, 'agents' | 'mailboxes' | 'people' | 'policies'>;
  };
}

/** What was sealed under a key that is erased is null. Throws `store_unavailable`. */
export async function approvalPayload({ personal, directory }: Parts, view: ApprovalView): Promise<Approval> {
  const { operationId, state, supersededBy, now } = view;
  const { submitted, decided, mailboxId, approval } = state;
  const status = approvalStatusOf(state, now);
  if (!submitted || !decided || mailboxId === null || approval === null || status === null) {
    throw new Error(`operation ${operationId} has no approval`);
  }
  const open = (text: Sealed | null): Promise<string | null> =>
    text === null ? Promise.resolve(null) : personal.open(text);
  const { requested, terms } = approval;
  const end = endOf(approval);
  const [manifest, warnings, reason, cancelReason, votes] = await Promise.all([
    openFixed(personal, requested),
    open(requested.warnings ?? null),
    open(submitted.reason),
    open(end?.status === 'cancelled' ? end.reason : null),
    Promise.all(approval.votes.map(async (vote) => voteOf(vote, await open(vote.reason)))),
  ]);
  const mailbox = directory.state.mailboxes.get(mailboxId);
  const requester = requesterOf(submitted.by, directory.state);
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
      isOwn: isOwnRequest(directory.state, submitted.by, view.viewerId),
    }),
    policy: { version: decided.policy_version, rule_id: decided.rule_id },
    quorum: {
      required: terms.quorum,
      approved: votes.filter(({ decision }) => decision === 'approve').length,
      approver_role: terms.approver_role,
      exclude_owner: terms.exclude_owner,
    },
    votes,
    created_at: approval.requestedAt,
    ...momentsOf(approval),
    ...runByOf(approval, status, requester.id),
    ...(end?.status === 'cancelled' ? { cancel_reason: cancelReason } : {}),
    ...invalidationOf(end),
    ...executionOf(view),
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
  { manifest, content_hash }: ApprovalState['requested'],
): Promise<Manifest | null> {
  const text = await personal.open(manifest);
  return text === null ? null : openManifest(text, content_hash);
}

/** As lists tell it. Throws `store_unavailable`. */
export async function listedApproval(parts: Parts, view: ApprovalView): Promise<ListedApproval> {
  const { manifest: _, ...listed } = await approvalPayload(parts, view);
  return listed;
}

/** Who was removed, or erased, has no name any more. */
const namesOf = (
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

const voteOf = ({ by, decision, at, content_hash, own_request }: Vote, reason: string | null) => ({
  by: by.id,
  decision,
  reason,
  at,
  content_hash,
  own_request,
});

const momentsOf = (approval: ApprovalState) => ({
  expires_at: approval.expiresAt,
  ...(wasGranted(approval) ? { commit_by: approval.expiresAt } : {}),
  ...(approval.phase === 'scheduled' ? { commit_at: approval.commitAt } : {}),
  ...(approval.phase === 'ended' ? { ended_at: approval.endedAt } : {}),
});

/** An approval that the gateway does not commit lapses unless somebody does. */
function runByOf(
  { phase, terms, expiresAt }: ApprovalState,
  status: ApprovalStatus,
  id: string,
): Pick<Approval, 'run_by'> {
  if (!isOpen(status) || terms.auto_commit || phase === 'scheduled') return {};
  return { run_by: { id, until: phase === 'awaiting' ? null : expiresAt, within_seconds: terms.commit_ttl } };
}

function invalidationOf(end: ApprovalEnd | null): Pick<Approval, 'invalidated'> {
  if (end?.status !== 'invalidated') return {};
  const { reason, policy } = end.why;
  if (policy === null) return { invalidated: { reason } };
  const { decision, rule_id, policy_version } = policy;
  return { invalidated: { reason, policy: { decision, rule_id, version: policy_version } } };
}

function executionOf({ operationId, state, now }: ApprovalView): Pick<Approval, 'execution'> {
  const { approval, results, send } = state;
  const attempt = approval?.attempt ?? null;
  if (attempt === null) return {};
  const error = send?.outcome == null ? attempt.error : send.outcome.error;
  return {
    execution: {
      status: progressAt(state, now),
      attempts: attempt.number,
      results: results === null ? [] : replyOf(operationId, results).results,
      ...(error === null ? {} : { error: { code: error.code, message: error.message } }),
    },
  };
}
