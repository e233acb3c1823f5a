/** The answer to a send: the reply, or the error that is its outcome. */
import { loadAggregate } from '../kernel/decide-and-append.ts';
import { type ErrorCode, ERROR_TABLE, GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { approvalReply } from '../operations/approval-reply.ts';
import type { OperationReply, OperationState } from '../operations/operation.ts';
import type { SendOutcome } from '../operations/operation-events.ts';
import { draft, type DraftState } from '../drafts/draft.ts';
import { draftPayload } from '../drafts/draft-payload.ts';
import { summaryOf } from './close-operation.ts';

/** A send and its draft. */
export interface ToldSend {
  readonly operationId: string;
  readonly draftId: string;
  readonly draft: DraftState;
}

const isErrorCode = (code: string): code is ErrorCode => code in ERROR_TABLE;

/**
 * Returns the reply of a completed send. Throws the error of a failed one (`provider_rejected` and the like),
 * or of an unknown one (`outcome_unknown`).
 */
export async function tellOutcome(
  ports: Ports,
  told: ToldSend,
  outcome: SendOutcome,
  { replayed }: { readonly replayed: boolean },
): Promise<OperationReply> {
  const { operationId, draftId } = told;
  if (outcome.error === null) {
    return {
      status: 'completed',
      operation_id: operationId,
      results: [],
      summary: summaryOf(outcome),
      draft_id: draftId,
      draft: await draftPayload(ports, draftId, told.draft),
    };
  }
  const { code, message, smtp_status } = outcome.error;
  throw new GatewayError(isErrorCode(code) ? code : 'provider_rejected', message, {
    details: {
      operation_id: operationId,
      draft_id: draftId,
      ...(smtp_status === null ? {} : { smtp_status }),
      ...(await refusalsOf(ports, told)),
    },
    replayed,
  });
}

/** The reply of a send that is held back; until then discard_draft ends it. */
export const tellHeld = async (
  ports: Ports,
  { operationId, draftId, draft }: ToldSend,
): Promise<OperationReply> => ({
  status: 'pending_commit',
  operation_id: operationId,
  results: [],
  draft_id: draftId,
  draft: await draftPayload(ports, draftId, draft),
});

/** The reply of a send with an approval: the current state of both. */
export async function replyWithApproval(
  ports: Pick<Ports, 'events' | 'personal' | 'clock'>,
  told: { readonly operationId: string; readonly draftId: string; readonly operation: OperationState },
): Promise<OperationReply> {
  const { state } = await loadAggregate(ports.events, draft, told.draftId);
  const reply = approvalReply(told.operationId, told.operation, ports.clock.now());
  return { ...reply, draft: await draftPayload(ports, told.draftId, state) };
}

/** The server's own words. Only the caller receives them, since they name recipients. */
async function refusalsOf(ports: Ports, { draft, operationId }: ToldSend): Promise<Record<string, unknown>> {
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
  { operationId, draftId }: ToldSend,
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
