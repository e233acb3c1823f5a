/** A send from request to outcome, driven as by clients and a page in one process; outcomes are codes. */
import { commitAtOf } from '../../../commands/operations/approval-state.ts';
import { type Caller, callerInSession, callerOf } from '../../../commands/kernel/access.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import { loadAggregate, systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { commitDue } from '../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../commands/approvals/decide-approval.ts';
import { settleReview } from '../../../commands/drafts/end-review.ts';
import { sendDraftCapability } from '../../../commands/sending/send-draft.ts';
import { settleSend } from '../../../commands/sending/settle-send.ts';
import { actOnEmail } from '../../../commands/email/act-on-email.ts';
import { operation, type OperationReply } from '../../../commands/operations/operation.ts';
import type { TestGateway } from './gateway.ts';
import type { ToldSend } from '../models/send-invariants.ts';
import type { SignedInPerson } from './sign-in.ts';
import { invokeAs } from './invoke-as.ts';

/** The requester with a token, and the approver in a session. */
export interface Senders {
  readonly gateway: TestGateway;
  readonly owner: SignedInPerson;
}

export interface AskedSend {
  readonly draftId: string;
  readonly key: string;
}

/** send_draft. */
export const askToSend = (ports: Ports, senders: Senders, { draftId, key }: AskedSend): Promise<ToldSend> =>
  told(async () => {
    const call = [sendDraftCapability, { draft_id: draftId }] as const;
    await invokeAs(ports, clientOf(ports, senders.gateway), call, { idempotencyKey: key });
    return 'completed';
  });

/** Requests, approves, and returns the approval's state; a repeat requests and approves a second time. */
export const askAndApprove = (
  ports: Ports,
  senders: Senders,
  { draftId, key }: AskedSend,
  mailboxId: string,
): Promise<ToldSend> =>
  told(async () => {
    const operation = { type: 'draft_send', draft_id: draftId };
    const request = { mailbox_id: mailboxId, operation };
    const client = clientOf(ports, senders.gateway);
    const asked = await invokeAs(ports, client, [actOnEmail, request], { idempotencyKey: key });
    const { approval } = asked.output as OperationReply;
    if (approval?.status !== 'awaiting_approval') return codeOf(approval?.status);
    const vote = { approval_id: approval.id, decision: 'approve', content_hash: approval.content_hash };
    const decided = await invokeAs(ports, deciderOf(ports, senders), [decideApproval, vote]);
    return codeOf((decided.output as { readonly status: string }).status);
  });

/** A committed approval is reported like any send. */
const codeOf = (status = 'completed'): string =>
  status === 'committed' ? 'completed' : status === 'commit_unknown' ? 'outcome_unknown' : status;

async function told(ask: () => Promise<string>): Promise<ToldSend> {
  try {
    return { code: await ask() };
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code };
    throw error;
  }
}

/** The work of a process's workers on one approved send. */
export async function passOver(ports: Ports, operationId: string, draftId: string): Promise<void> {
  await settleReview(ports, { operationId, draftId, orgId: null });
  await settleSend(ports, { operationId, orgId: null });
  const { approval } = (await loadAggregate(ports.events, operation, operationId)).state;
  const commitAt = commitAtOf(approval);
  if (commitAt === null || Date.parse(commitAt) > ports.clock.now().getTime()) return;
  const author = systemAuthor(ports, null);
  await commitDue(ports, { operationId, author, notePosition: () => undefined });
}

/** The caller of the gateway's own REST token. */
export function clientOf({ directory: { state }, tokens, clock }: Ports, gateway: TestGateway): Caller {
  const hash = tokens.hashRestToken(gateway.tokens.restToken);
  const token = [...state.tokens.values()].find(({ secretHash }) => secretHash === hash);
  const caller = token && callerOf(state, token, clock.now());
  if (!caller) throw new Error('no caller');
  return caller;
}

function deciderOf({ directory: { state }, clock }: Ports, { owner }: Senders): Caller {
  const session = state.sessions.get(owner.sessionId);
  const caller = session && callerInSession(state, session, clock.now());
  if (!caller) throw new Error('nobody is signed in');
  return caller;
}
