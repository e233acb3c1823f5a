/**
 * The answer to a key that was used for a send before: the current state of that send, never a second
 * message.
 */
import type { Context } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import { keyInProgress, keyReused } from '../kernel/idempotency.ts';
import type { Ports } from '../ports/ports.ts';
import { originalStatus } from '../operations/approval-reply.ts';
import { operation, type OperationReply, type SendOfOperation } from '../operations/operation.ts';
import { draft, type DraftState } from '../drafts/draft.ts';
import { settleSend } from './settle-send.ts';
import { replyWithApproval, tellHeld, tellOutcome, willRetry } from './send-reply.ts';

/**
 * Returns null when nothing was written under the key. Throws `idempotency_key_reused` for another request,
 * `idempotency_in_progress` while the first still runs or was interrupted after its data began,
 * `provider_timeout` while it waits for its next attempt, and the recorded error of a failed one. A send that
 * was interrupted earlier is resumed at once; one with an approval is reported as it is.
 */
export async function replaySend(context: Context, operationId: string): Promise<OperationReply | null> {
  const { ports, fingerprint } = context;
  const { state, position } = await loadAggregate(ports.events, operation, operationId);
  if (position === null) return null;
  const approvalDraftId = state.approval?.requested.draft_id ?? null;
  const isSend = state.send !== null || approvalDraftId !== null;
  if (state.fingerprint !== fingerprint || !isSend) throw keyReused();
  context.markReplayed();
  context.notePosition(position);
  if (approvalDraftId !== null) {
    const original_status = originalStatus(state);
    return {
      ...(await replyWithApproval(ports, { operationId, draftId: approvalDraftId, operation: state })),
      original_status,
    };
  }
  if (state.send === null) throw keyReused();
  const { draftId } = state.send;
  if (state.send.outcome !== null) {
    const now = await loadAggregate(ports.events, draft, draftId);
    return await tell(ports, { operationId, draftId, draft: now.state }, state.send);
  }
  await assertNobodyRuns(ports, operationId);
  const settled = await settleSend(ports, { operationId, orgId: context.author.orgId });
  if (settled.draft === null) throw keyInProgress(1);
  return await tellNow(ports, { operationId, draftId, draft: settled.draft });
}

async function assertNobodyRuns(ports: Ports, operationId: string): Promise<void> {
  const holder = await ports.leases.holder(operationId);
  if (holder) throw keyInProgress(secondsUntil(ports, holder.until, 30));
}

function secondsUntil({ clock }: Pick<Ports, 'clock'>, at: Date, most: number): number {
  return Math.min(most, Math.max(1, Math.ceil((at.getTime() - clock.now().getTime()) / 1_000)));
}

interface Told {
  readonly operationId: string;
  readonly draftId: string;
  readonly draft: DraftState;
}

/** The send after it was resumed. */
async function tellNow(ports: Ports, told: Told): Promise<OperationReply> {
  const { state } = await loadAggregate(ports.events, operation, told.operationId);
  if (state.send?.outcome != null) return await tell(ports, told, state.send);
  const { send } = told.draft;
  if (send?.commitAt != null) return { ...(await tellHeld(ports, told)), original_status: 'pending_commit' };
  if (send?.retryAt != null) throw willRetry(ports, told, send.retryAt, { replayed: true });
  const judgedAt =
    send?.dataBegunAt == null
      ? ports.clock.now()
      : new Date(Date.parse(send.dataBegunAt) + ports.server.sendTimes.judgeAfterMs);
  throw keyInProgress(secondsUntil(ports, judgedAt, 900));
}

async function tell(
  ports: Ports,
  told: Told,
  { outcome, recorded, commitAt }: SendOfOperation,
): Promise<OperationReply> {
  if (outcome === null) throw keyInProgress(1);
  const reply = await tellOutcome(ports, told, outcome, { replayed: true });
  const first = commitAt === null ? 'completed' : 'pending_commit';
  return { ...reply, original_status: recorded?.error?.code ?? first };
}
