/**
 * The answer to a send: the reply, or the error that is its outcome. A repeated key is answered with the
 * current state of that send, never with a second message.
 */
import type { Context } from '../kernel/capability.ts';
import { type Loaded, loadAggregate } from '../kernel/decide-and-append.ts';
import { keyInProgress, keyReused } from '../kernel/idempotency.ts';
import { ERROR_TABLE, type ErrorCode, GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { approvalReply, originalStatus } from '../operations/approval-reply.ts';
import {
  operation,
  type OperationReply,
  type OperationState,
  type SendOfOperation,
} from '../operations/operation.ts';
import type { SendOutcome } from '../operations/operation-events.ts';
import { draft, type DraftState } from '../drafts/draft.ts';
import { draftPayload } from '../drafts/draft-payload.ts';
import { summaryOf } from './conclude-send.ts';
import { settleSend } from './settle-send.ts';

/** A send and its draft. */
interface ReportedSend {
  readonly operationId: string;
  readonly draftId: string;
  readonly draft: DraftState;
}

const isErrorCode = (code: string): code is ErrorCode => code in ERROR_TABLE;

/**
 * Returns the reply of a completed send. Throws the error of a failed one (`provider_rejected` and the like),
 * or of an unknown one (`outcome_unknown`).
 */
export async function outcomeReply(
  ports: Ports,
  send: ReportedSend,
  outcome: SendOutcome,
  { replayed }: { readonly replayed: boolean },
): Promise<OperationReply> {
  const { operationId, draftId } = send;
  if (outcome.error === null) {
    return {
      status: 'completed',
      operation_id: operationId,
      results: [],
      summary: summaryOf(outcome),
      draft_id: draftId,
      draft: await draftPayload(ports, draftId, send.draft),
    };
  }
  const { code, message, smtp_status } = outcome.error;
  throw new GatewayError(isErrorCode(code) ? code : 'provider_rejected', message, {
    details: {
      operation_id: operationId,
      draft_id: draftId,
      ...(smtp_status === null ? {} : { smtp_status }),
      ...(await refusalsOf(ports, send)),
    },
    replayed,
  });
}

/** The reply of a send that is held back; until then discard_draft ends it. */
export const heldReply = async (
  ports: Ports,
  { operationId, draftId, draft }: ReportedSend,
): Promise<OperationReply> => ({
  status: 'pending_commit',
  operation_id: operationId,
  results: [],
  draft_id: draftId,
  draft: await draftPayload(ports, draftId, draft),
});

/** The server's own words. Only the caller receives them, since they name recipients. */
async function refusalsOf(
  ports: Ports,
  { draft, operationId }: ReportedSend,
): Promise<Record<string, unknown>> {
  const end = draft.sendEnds[operationId];
  if (end?.kind !== 'failed') return {};
  const { response, rejected } = end.data;
  const text = response === null ? null : await ports.personal.open(response);
  const refused = await Promise.all(
    rejected.map(async ({ address, smtp_status, response: words }) => ({
      address: await ports.personal.open(address),
      smtp_status,
      response: await ports.personal.open(words),
    })),
  );
  return {
    ...(text === null ? {} : { server_response: text }),
    ...(refused.length === 0 ? {} : { rejected: refused }),
  };
}

/** The 504 of a send that is retried later. */
export function willRetry(
  ports: Pick<Ports, 'clock'>,
  { operationId, draftId }: ReportedSend,
  retryAt: string,
  { replayed }: { readonly replayed: boolean },
): GatewayError {
  const seconds = Math.ceil((Date.parse(retryAt) - ports.clock.now().getTime()) / 1_000);
  return new GatewayError(
    'provider_timeout',
    'The mail server does not take the message just now; it is tried again, and discard_draft ends it.',
    {
      details: { operation_id: operationId, draft_id: draftId, retry_at: retryAt },
      retryAfterSeconds: Math.max(1, seconds),
      replayed,
    },
  );
}

/**
 * Returns null when nothing was written under the key. Throws `idempotency_key_reused` for another request,
 * `idempotency_in_progress` while the first still runs or was interrupted after its data began,
 * `provider_timeout` while it waits for its next attempt, and the recorded error of a failed one. A send that
 * was interrupted earlier is resumed at once; one with an approval is reported as it is. `loaded`: the operation, if it was
 * just read.
 */
export async function replaySend(
  context: Context,
  operationId: string,
  loaded?: Loaded<OperationState>,
): Promise<OperationReply | null> {
  const { ports, fingerprint } = context;
  const { state, position } = loaded ?? (await loadAggregate(ports.events, operation, operationId));
  if (position === null) return null;
  const approvalDraftId = state.approval?.requested.draft_id ?? null;
  const isSend = state.send !== null || approvalDraftId !== null;
  if (state.fingerprint !== fingerprint || !isSend) throw keyReused();
  context.markReplayed();
  context.notePosition(position);
  if (approvalDraftId !== null) {
    const now = await loadAggregate(ports.events, draft, approvalDraftId);
    const reply = approvalReply(operationId, state, ports.clock.now());
    const payload = await draftPayload(ports, approvalDraftId, now.state);
    return { ...reply, draft: payload, original_status: originalStatus(state) };
  }
  if (state.send === null) throw keyReused();
  const { draftId } = state.send;
  if (state.send.outcome !== null) {
    const now = await loadAggregate(ports.events, draft, draftId);
    return await replayedReply(ports, { operationId, draftId, draft: now.state }, state.send);
  }
  await assertNotRunning(ports, operationId);
  const settled = await settleSend(ports, { operationId, orgId: context.author.orgId });
  if (settled === null) throw keyInProgress(1);
  return await resumedReply(ports, { operationId, draftId, draft: settled });
}

/** As `replaySend`, for a key that another request uses: throws `idempotency_in_progress` until it wrote. */
export async function replayFirst(context: Context, operationId: string): Promise<OperationReply> {
  const reply = await replaySend(context, operationId);
  if (reply === null) throw keyInProgress(1);
  return reply;
}

async function assertNotRunning(ports: Ports, operationId: string): Promise<void> {
  const holder = await ports.leases.holder(operationId);
  if (holder) throw keyInProgress(secondsUntil(ports, holder.until, 30));
}

function secondsUntil({ clock }: Pick<Ports, 'clock'>, at: Date, most: number): number {
  return Math.min(most, Math.max(1, Math.ceil((at.getTime() - clock.now().getTime()) / 1_000)));
}

/** The send after it was resumed. */
async function resumedReply(ports: Ports, resumed: ReportedSend): Promise<OperationReply> {
  const { state } = await loadAggregate(ports.events, operation, resumed.operationId);
  if (state.send?.outcome != null) return await replayedReply(ports, resumed, state.send);
  const { send } = resumed.draft;
  if (send?.commitAt != null) {
    return { ...(await heldReply(ports, resumed)), original_status: 'pending_commit' };
  }
  if (send?.retryAt != null) throw willRetry(ports, resumed, send.retryAt, { replayed: true });
  const judgedAt =
    send?.dataBegunAt == null
      ? ports.clock.now()
      : new Date(Date.parse(send.dataBegunAt) + ports.server.sendTimes.judgeAfterMs);
  throw keyInProgress(secondsUntil(ports, judgedAt, 900));
}

async function replayedReply(
  ports: Ports,
  send: ReportedSend,
  { outcome, recorded, commitAt }: SendOfOperation,
): Promise<OperationReply> {
  if (outcome === null) throw keyInProgress(1);
  const reply = await outcomeReply(ports, send, outcome, { replayed: true });
  const first = commitAt === null ? 'completed' : 'pending_commit';
  return { ...reply, original_status: recorded?.error?.code ?? first };
}
