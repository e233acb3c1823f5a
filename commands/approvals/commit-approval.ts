/**
 * Runs exactly what was approved, for a caller (`approval_commit`) or when its time has come. A repeat returns
 * the present status and runs nothing.
 */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import { ERROR_TABLE, GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { answerInTime } from '../operations/answer-in-time.ts';
import { approvalReply, approvalStatusOf, assertContentHash } from '../operations/approval-reply.ts';
import { type ApprovalStatus, isUnrun } from '../operations/approval-state.ts';
import type { Commit } from '../operations/commit-kind.ts';
import { operation, OperationReply, type OperationState } from '../operations/operation.ts';
import { assertCommittable, runCommit } from '../operations/run-commit.ts';
import { actionsCommit } from '../messages/commit-actions.ts';
import { releaseDraftOf } from '../drafts/end-review.ts';
import { sendCommit } from '../sending/commit-send.ts';
import { ApprovalId, assertMayAct, findApproval } from './find-approval.ts';

const Input = z.strictObject({
  approval_id: ApprovalId,
  content_hash: z
    .string()
    .max(64)
    .optional()
    .describe('Refuse with version_conflict when the approval has another content_hash.'),
});
type CommitInput = z.output<typeof Input>;

export const commitApproval = defineCapability<CommitInput, OperationReply>({
  name: 'approval_commit',
  title: 'Commit approval',
  summary: 'Run an approval, exactly as it was approved.',
  description:
    'Run an approval with status pending_commit: exactly the messages or the mail that was approved, nothing else. ' +
    'Everything is revalidated first. approval_pending: not decided yet. approval_expired, approval_invalidated, ' +
    'selection_changed: nothing ran and nothing will, make a new request. mailbox_unavailable: nothing ran, commit again later. ' +
    'completed: see results. With approval.commit_at it runs automatically then, and cancel_approval stops it; once it has begun, ' +
    'the response shows its progress.',
  effect: 'write',
  access: { any: ['approvals:commit'] },
  rest: { method: 'post', path: '/approvals/:approval_id/approval_commit' },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: true, idempotent: true, openWorld: true },
  },
  idempotency: {
    kind: 'claim',
    required: true,
    recordsOutcome: true,
    claimsFirst: true,
    replay: committedBefore,
  },
  input: Input,
  output: OperationReply,
  handle: (input, context) => commitAsCaller(context, input),
});

/** Commits for the caller. Throws the errors of `approval_commit`; early ones leave the key unclaimed. */
export async function commitAsCaller(
  context: Context,
  { approval_id, content_hash }: CommitInput,
): Promise<OperationReply> {
  const { ports, author } = context;
  const found = await findApproval(context, approval_id);
  assertMayAct(context, found, 'approvals:commit', [found.requesterId]);
  const { state, position } = found.loaded;
  const now = ports.clock.now();
  if (hasRunAutomatically(state, now)) {
    if (content_hash !== undefined) assertContentHash(content_hash, found.approval.requested);
    context.notePosition(position);
    return approvalReply(found.operationId, state, now);
  }
  assertCommittable(state, now, content_hash);
  // The key is taken while everything is revalidated; nothing is appended before it is.
  const claimed = context.claim('req', found.mailboxId);
  const commit = commitOf(ports, {
    operationId: found.operationId,
    author,
    by: 'caller',
    loaded: found.loaded,
    claimed,
    notePosition: (position) => {
      context.notePosition(position);
    },
  });
  // Where another request has the key, that is the answer, whatever the commit met.
  commit.catch(() => undefined);
  const taken = claimed.then(() => commit);
  try {
    const reply = await answerInTime(context, found.operationId, taken);
    if (reply.approval?.status === 'committed') context.markRecorded();
    return reply;
  } finally {
    // The key is released at the end of the request, so its claim must have ended.
    await Promise.allSettled([claimed]);
  }
}

/** The gateway commits it automatically and has begun: the caller is too late and gets the progress. */
function hasRunAutomatically(state: OperationState, now: Date): boolean {
  const status = approvalStatusOf(state, now);
  return state.approval?.terms.auto_commit === true && status !== null && BEGUN.has(status);
}

const BEGUN: ReadonlySet<ApprovalStatus> = new Set([
  'committing',
  'committed',
  'commit_failed',
  'commit_unknown',
]);

/** What an earlier request with this key did; null when it had no effect and no process resumes it. */
export async function committedBefore(
  _: string,
  { approval_id }: Pick<CommitInput, 'approval_id'>,
  context: Context,
  settled: boolean,
): Promise<OperationReply | null> {
  const found = await findApproval(context, approval_id);
  assertMayAct(context, found, 'approvals:commit', [found.requesterId]);
  const { state, position } = found.loaded;
  const now = context.ports.clock.now();
  if (!settled && isLeftAlone(state, now)) return null;
  context.notePosition(position);
  if (approvalStatusOf(state, now) === 'committed') context.markRecorded();
  return approvalReply(found.operationId, state, now);
}

/** Nothing ran and the gateway does not retry: the request with this key runs it or is refused. */
function isLeftAlone(state: OperationState, now: Date): boolean {
  const status = approvalStatusOf(state, now);
  return status === 'pending_commit' ? state.approval?.phase === 'granted' : isUnrun(status);
}

/**
 * Commits an approval that is due. Returns true when nothing is left to do now: it ran or it ended. Returns
 * false when a temporary error prevented it and it must be tried again after a pause. Throws for a defect.
 */
export async function commitDue(
  ports: Ports,
  due: Pick<Commit, 'operationId' | 'author' | 'notePosition'>,
): Promise<boolean> {
  try {
    await commitOf(ports, { ...due, by: 'schedule' });
    return true;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code } = error;
    ports.log.info('approval: automatic commit did not run', { operation_id: due.operationId, code });
    // A legal hold may be released before the approval expires.
    return !ERROR_TABLE[code].retryable && code !== 'legal_hold';
  }
}

/** Throws what `runCommit` throws. When the approval of a send ended by it, the draft is released. */
async function commitOf(ports: Ports, commit: Commit): Promise<OperationReply> {
  const loaded = commit.loaded ?? (await loadAggregate(ports.events, operation, commit.operationId));
  const first = { ...commit, loaded };
  if (loaded.state.approval?.requested.draft_id == null) return await runCommit(ports, first, actionsCommit);
  try {
    return await runCommit(ports, first, sendCommit);
  } catch (error) {
    if (error instanceof GatewayError) {
      await commit.claimed;
      const { state } = await loadAggregate(ports.events, operation, commit.operationId);
      await releaseDraftOf(ports, commit.author, commit.operationId, state);
    }
    throw error;
  }
}
