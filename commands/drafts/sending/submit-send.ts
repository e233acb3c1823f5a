/** The send of a draft from its claim on: operation, intent, first attempt, outcome. */
import type { Context } from '../../kernel/capability.ts';
import { appendFacts, loadAggregate, streamOf } from '../../kernel/decide-and-append.ts';
import { GatewayError } from '../../kernel/errors.ts';
import { type HeldLease, LeaseLost } from '../../kernel/hold-lease.ts';
import { keyInProgress } from '../../kernel/idempotency.ts';
import { WrongExpectedRevision } from '../../kernel/ports.ts';
import type { Mode } from '../../operations/authorize-operation.ts';
import { operation, type OperationReply } from '../../operations/operation.ts';
import type { PolicyDecision } from '../../policy/decide-policy.ts';
import { draft, type DraftFact, type DraftStatus } from '../draft.ts';
import { beginSend, type DraftAtRevision } from './begin-send.ts';
import { closeOperation } from './close-operation.ts';
import { replaySend } from './replay-send.ts';
import { type Attempt, runAttempt } from './run-attempt.ts';
import { outcomeOf } from './send-outcome.ts';
import { takeQuota } from './send-quota.ts';
import { tellOutcome, willRetry } from './tell-send.ts';

export interface SendRequest {
  readonly capability: string;
  readonly draftId: string;
  /** The version the caller has seen; undefined = whichever is there. */
  readonly expectedVersion: number | undefined;
  readonly mode: Exclude<Mode, 'preview'>;
  /** Kept in the audit trail. */
  readonly reason?: string | undefined;
}

type Frozen = Extract<DraftFact, { type: 'DraftFrozen' }>['data'];

/** A send that nothing forbids, its message fixed and its lease taken. */
export interface PreparedSend {
  readonly request: SendRequest;
  readonly operationId: string;
  readonly loaded: DraftAtRevision;
  readonly policy: PolicyDecision;
  readonly frozen: Frozen;
  readonly lease: HeldLease;
}

/** The refusal of a draft that is being sent or was ended. */
export const locked = (status: DraftStatus): GatewayError =>
  new GatewayError('draft_locked', `The draft is ${status.replace('_', ' ')}; it cannot be sent.`, {
    details: { status },
  });

/**
 * Writes the claim and the intent, runs the first attempt and tells how it ended. Throws `quota_exceeded` before anything
 * is written, and what `sendDraft` tells of a send.
 */
export async function submitSend(context: Context, prepared: PreparedSend): Promise<OperationReply> {
  try {
    return await claimAndSend(context, prepared);
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    // This process was held up for so long that another one may have gone on with the send.
    return await replayFirst(context, prepared.operationId);
  }
}

async function claimAndSend(context: Context, prepared: PreparedSend): Promise<OperationReply> {
  const { ports, author, caller } = context;
  const { operationId, loaded } = prepared;
  if (caller.actor === 'agent') await takeQuota(ports, author, caller.principal.id, operationId);
  if (!(await claim(context, prepared))) return await replayFirst(context, operationId);
  const attempt = await beginUnchanged(context, prepared, loaded);
  if (attempt === null) return await closeChanged(context, prepared);
  const state = await runAttempt(ports, author, attempt);
  const told = { operationId, draftId: loaded.id, draft: state };
  const outcome = outcomeOf(state, operationId);
  if (outcome === null) {
    if (state.send?.retryAt == null) throw keyInProgress(1);
    throw willRetry(ports, told, state.send.retryAt, { replayed: false });
  }
  context.notePosition((await closeOperation(ports, author, operationId, outcome)).position);
  return await tellOutcome(ports, told, outcome, { replayed: false });
}

/** Events that leave the version and the state as they are (a copy filed in Drafts) do not keep it from being sent. */
const MOST_TRIES = 5;

async function beginUnchanged(
  { ports, author }: Context,
  { frozen, lease }: PreparedSend,
  first: DraftAtRevision,
): Promise<Attempt | null> {
  let loaded = first;
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    lease.assertHeld();
    const attempt = await beginSend(ports, author, loaded, { frozen, lease });
    if (attempt !== null) return attempt;
    const { state, revision } = await loadAggregate(ports.events, draft, loaded.id);
    if (state.status !== loaded.state.status || state.current?.version !== frozen.version) return null;
    loaded = { ...loaded, state, revision };
  }
  return null;
}

/** Somebody edited, sent or discarded the draft since it was loaded: nothing was sent, and that is the outcome. */
async function closeChanged(context: Context, prepared: PreparedSend): Promise<OperationReply> {
  const { ports, author } = context;
  const { operationId, loaded, frozen, lease } = prepared;
  await ports.content.erase([frozen.mime_id]);
  const { state } = await loadAggregate(ports.events, draft, loaded.id);
  const isOurs = state.send?.frozen.operation_id === operationId || state.sendEnds[operationId] !== undefined;
  // This process slept past its lease, and another one went on with the send.
  if (isOurs) return await replayFirst(context, operationId);
  const isEdited = state.status === 'open' || state.status === 'send_failed';
  const error = isEdited
    ? { code: 'version_conflict', message: 'The draft was edited meanwhile; read it again.' }
    : locked(state.status);
  const { code, message } = error;
  const outcome = { outcome: 'failed', error: { code, message, smtp_status: null } } as const;
  lease.assertHeld();
  await closeOperation(ports, author, operationId, outcome);
  const told = { operationId, draftId: loaded.id, draft: state };
  return await tellOutcome(ports, told, outcome, { replayed: false });
}

async function replayFirst(context: Context, operationId: string): Promise<OperationReply> {
  const reply = await replaySend(context, operationId);
  if (reply === null) throw keyInProgress(1);
  return reply;
}

/** The operation's first append; false when the key was used by another request. */
async function claim(
  { ports, author, fingerprint }: Context,
  { request, operationId, loaded, policy }: PreparedSend,
): Promise<boolean> {
  const submitted = {
    mailbox_id: loaded.mailboxId,
    capability: request.capability,
    fingerprint,
    mode: request.mode,
    reason: request.reason === undefined ? null : await ports.personal.seal(author.actor.id, request.reason),
    run_id: ports.leases.runId,
    targets: [],
  };
  const decided = { decision: policy.decision, rule_id: policy.ruleId, policy_version: policy.version };
  const intended = {
    mailbox_id: loaded.mailboxId,
    draft_id: loaded.id,
    draft_version: loaded.state.current?.version ?? 0,
  };
  try {
    await appendFacts(ports, author, {
      stream: streamOf(operation, operationId),
      expected: 'no-stream',
      catalogue: operation.catalogue,
      facts: [
        { type: 'OperationSubmitted', data: submitted },
        { type: 'OperationDecided', data: decided },
        { type: 'SendIntended', data: intended },
      ],
    });
    return true;
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return false;
    throw error;
  }
}
