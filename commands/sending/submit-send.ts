/** The send of a draft from its claim to its outcome: operation, intent, first attempt. */
import type { DraftStatus } from '../operations/draft-shape.ts';
import type { Context } from '../kernel/capability.ts';
import { loadAggregate, type Loaded } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import { type HeldLease, LeaseLost } from '../kernel/hold-lease.ts';
import { keyInProgress } from '../kernel/idempotency.ts';
import type { Mode } from '../operations/authorize-operation.ts';
import { appendFirst, decidedFact, submittedFact } from '../operations/authorize-operation.ts';
import type { Submission } from '../ports/submission-port.ts';
import type { OperationFact, OperationReply, OperationState } from '../operations/operation.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import { draft } from '../drafts/draft.ts';
import { beginSend, type DraftAtRevision, type FrozenData, scheduleSend } from './freeze-draft.ts';
import { closeOperation } from './conclude-send.ts';
import { heldReply, outcomeReply, replayFirst, willRetry } from './send-reply.ts';
import { runAttempt, whileConnecting } from './run-attempt.ts';
import { outcomeOf } from './send-outcome.ts';
import { type ReadHours, senderOf, takeQuota } from '../operations/send-quota.ts';

export interface SendRequest {
  readonly capability: string;
  readonly draftId: string;
  /** The mailbox that the caller named; undefined = none. */
  readonly mailboxId?: string;
  /** The version the caller has read; undefined = any. */
  readonly expectedVersion: number | undefined;
  readonly mode: Exclude<Mode, 'preview'>;
  /** Kept in the audit trail. */
  readonly reason?: string | undefined;
}

/** A send that nothing forbids, with its message frozen and its lease held. */
interface PreparedSend {
  readonly request: SendRequest;
  readonly operationId: string;
  readonly loaded: DraftAtRevision;
  readonly policy: PolicyDecision;
  readonly hours: ReadHours;
  readonly frozen: FrozenData;
  readonly lease: HeldLease;
}

/** The refusal of a draft that is being sent or has ended. */
export const locked = (status: DraftStatus): GatewayError =>
  new GatewayError('draft_locked', `The draft is ${status.replace('_', ' ')}; it cannot be sent.`, {
    details: { status },
  });

/** The refusal of a draft that was edited, sent or discarded since it was loaded. */
export const changedMeanwhile = (status: DraftStatus): GatewayError =>
  status === 'open' || status === 'send_failed'
    ? new GatewayError('version_conflict', 'The draft was edited meanwhile; read it again.')
    : locked(status);

/**
 * Writes the claim and the intent, runs the first attempt and returns its end, or holds the message back
 * where policy requires it. Throws `quota_exceeded` before anything is written, and what `sendDraft` throws
 * for a send.
 */
export async function submitSend(context: Context, prepared: PreparedSend): Promise<OperationReply> {
  try {
    return await claimAndSend(context, prepared);
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    // The lease ran out, so another process may have resumed the send.
    return await replayFirst(context, prepared.operationId);
  }
}

async function claimAndSend(context: Context, prepared: PreparedSend): Promise<OperationReply> {
  const { ports, author, caller } = context;
  const { operationId, policy, loaded, hours } = prepared;
  await takeQuota(ports, author, senderOf(caller, loaded.mailboxId), { operationId, hours });
  const commitAt = heldUntil(ports.clock.now(), policy);
  if (commitAt !== null) return await holdBack(context, prepared, commitAt);
  return await whileConnecting(ports, prepared.loaded.mailboxId, (connecting) =>
    sendNow(context, prepared, connecting),
  );
}

/** The operation as written first; null when another request used this key first. */
async function claim(
  context: Context,
  prepared: PreparedSend,
  commitAt: string | null,
): Promise<Loaded<OperationState> | null> {
  const facts = await intentOf(context, prepared, commitAt);
  const first = await appendFirst(context, prepared.operationId, facts);
  return first && { state: first.state, ...first.appended };
}

/** Null when policy does not hold the send back. */
const heldUntil = (now: Date, { undoSeconds }: PolicyDecision): string | null =>
  undoSeconds === 0 ? null : new Date(now.getTime() + undoSeconds * 1_000).toISOString();

async function sendNow(
  context: Context,
  prepared: PreparedSend,
  connecting: Promise<Submission>,
): Promise<OperationReply> {
  const { ports, author } = context;
  const { operationId, loaded, frozen } = prepared;
  const claimed = await claim(context, prepared, null);
  if (claimed === null) return await replayFirst(context, operationId);
  const attempt = await beginSend(ports, author, prepared, frozen);
  if (attempt === null) return await closeChanged(context, prepared, claimed);
  const state = await runAttempt(ports, author, attempt, connecting);
  const reported = { operationId, draftId: loaded.id, draft: state };
  const outcome = outcomeOf(state, operationId);
  if (outcome === null) {
    if (state.send?.retryAt == null) throw keyInProgress(1);
    throw willRetry(ports, reported, state.send.retryAt, { replayed: false });
  }
  const closed = await closeOperation(ports, author, { operationId, loaded: claimed }, outcome);
  context.notePosition(closed.position);
  return await outcomeReply(ports, reported, outcome, { replayed: false });
}

/** Freezes the message; the sweeper begins the send when it is due. */
async function holdBack(context: Context, prepared: PreparedSend, commitAt: string): Promise<OperationReply> {
  const { ports, author } = context;
  const { operationId, loaded, frozen } = prepared;
  const claimed = await claim(context, prepared, commitAt);
  if (claimed === null) return await replayFirst(context, operationId);
  const state = await scheduleSend(ports, author, prepared, { frozen, commitAt });
  if (state === null) return await closeChanged(context, prepared, claimed);
  context.notePosition(claimed.position);
  return await heldReply(ports, { operationId, draftId: loaded.id, draft: state });
}

/** The draft was edited, sent or discarded since it was loaded: nothing was sent, and that is the outcome. */
async function closeChanged(
  context: Context,
  prepared: PreparedSend,
  claimed: Loaded<OperationState>,
): Promise<OperationReply> {
  const { ports, author } = context;
  const { operationId, loaded, frozen, lease } = prepared;
  await ports.content.erase([frozen.mime_id]);
  const { state } = await loadAggregate(ports.events, draft, loaded.id);
  const isOurs = state.send?.frozen.operation_id === operationId || state.sendEnds[operationId] !== undefined;
  // This process slept past its lease, and another process resumed the send.
  if (isOurs) return await replayFirst(context, operationId);
  const { code, message } = changedMeanwhile(state.status);
  const outcome = { outcome: 'failed', error: { code, message, smtp_status: null } } as const;
  lease.assertHeld();
  await closeOperation(ports, author, { operationId, loaded: claimed }, outcome);
  const reported = { operationId, draftId: loaded.id, draft: state };
  return await outcomeReply(ports, reported, outcome, { replayed: false });
}

/** The operation's first append. */
async function intentOf(
  context: Context,
  { request, loaded, policy }: PreparedSend,
  commitAt: string | null,
): Promise<readonly OperationFact[]> {
  const { capability, mode, reason } = request;
  const asked = { mailboxId: loaded.mailboxId, capability, mode, reason, targets: [] };
  const intended = {
    mailbox_id: loaded.mailboxId,
    draft_id: loaded.id,
    draft_version: loaded.state.current?.version ?? 0,
    ...(commitAt === null ? {} : { commit_at: commitAt }),
  };
  return [await submittedFact(context, asked), decidedFact(policy), { type: 'SendIntended', data: intended }];
}
