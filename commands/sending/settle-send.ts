/**
 * Resumes a send that no process runs: begins it, retries what certainly was not sent, searches for what may
 * have been sent, and updates the operation. It never repeats a message that may have been sent.
 */
import { type Author, decideAndAppend, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import { ERROR_TABLE, GatewayError, notFound } from '../values/errors.ts';
import { type HeldLease, holdLease, LeaseLost } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import { operation, type OperationState } from '../operations/operation.ts';
import type { SendOutcome } from '../operations/operation-events.ts';
import { draft, type DraftFact, type DraftState } from '../drafts/draft.ts';
import { beginAgain, beginSend, type DraftAtRevision, freezeDraft, scheduleSend } from './freeze-draft.ts';
import { closeOperation, concludeSend } from './conclude-send.ts';
import { givenUp, putBack, sent, unknown, withdrawn } from './decide-send.ts';
import { type NextStep, nextStep, type SendingOperation } from './next-step.ts';
import { refusedToday } from './send-content.ts';
import { runAttempt } from './run-attempt.ts';
import { refusedAs } from './send-outcome.ts';
import { findSentCopy, messageIdsOf } from './sent-copy.ts';

interface OpenSend {
  readonly operationId: string;
  readonly orgId: string | null;
}

interface Work {
  readonly operation: SendingOperation;
  readonly asked: OperationState;
  readonly loaded: DraftAtRevision;
  readonly lease: HeldLease;
  readonly author: Author;
}

/**
 * Runs one step of one send and returns its draft; null when the operation sends nothing, or another process
 * works on it. Throws a `GatewayError` when the mailbox or a store is unavailable.
 */
export async function settleSend(ports: Ports, { operationId, orgId }: OpenSend): Promise<DraftState | null> {
  const lease = await holdLease(ports.leases, operationId);
  if (lease === null) return null;
  try {
    const asked = (await loadAggregate(ports.events, operation, operationId)).state;
    const { send, approval } = asked;
    if (send === null) return null;
    const author = systemAuthor(ports, orgId);
    const loaded = await loadDraft(ports, send.draftId);
    const sending = { id: operationId, send, approval };
    const step = nextStep(sending, loaded.state, ports.server.sendTimes, ports.clock.now());
    const { state, refusal } = await take(ports, step, { operation: sending, asked, loaded, lease, author });
    if (refusal === null) await concludeSend(ports, author, { operationId }, state);
    else await closeOperation(ports, author, { operationId }, failedWith(refusal));
    return state;
  } catch (error) {
    if (error instanceof LeaseLost) return null;
    throw error;
  } finally {
    await lease.release();
  }
}

/** An outcome in the operation alone: the draft has no record of this send. */
const failedWith = ({ code, message }: { readonly code: string; readonly message: string }): SendOutcome => ({
  outcome: 'failed',
  error: { code, message, smtp_status: null },
});

async function loadDraft(ports: Ports, id: string): Promise<DraftAtRevision> {
  const { state, revision } = await loadAggregate(ports.events, draft, id);
  return { id, mailboxId: state.mailboxId ?? '', state, revision };
}

interface Taken {
  readonly state: DraftState;
  /** Why the send was never begun and will not be. */
  readonly refusal: { readonly code: string; readonly message: string } | null;
}

async function take(ports: Ports, step: NextStep, work: Work): Promise<Taken> {
  const { state } = work.loaded;
  switch (step.kind) {
    case 'begin':
      return await beginOrRefuse(ports, work);
    case 'attempt':
      return begun(await again(ports, work));
    case 'put_back':
      return begun(await putOff(ports, work));
    case 'judge':
      return begun(
        await judge(ports, work, ports.clock.now() >= step.from ? (send) => [unknown(send)] : null),
      );
    case 'look':
      return begun(await judge(ports, work, null));
    case 'give_up':
      return begun(await write(ports, work, (send) => [givenUp(send, 'gateway')]));
    case 'refuse':
      return { state, refusal: step };
    case 'wait':
    case 'file_copy':
    case 'nothing':
      return begun(state);
  }
}

const begun = (state: DraftState): Taken => ({ state, refusal: null });

/**
 * Refuses a draft that can no longer be made into a message. Throws a retryable error, which is retried
 * later.
 */
async function beginOrRefuse(ports: Ports, work: Work): Promise<Taken> {
  const { operation: sending, loaded, author } = work;
  const { id: draftId, mailboxId, state } = loaded;
  const { commitAt } = sending.send;
  try {
    const refused = await refusedToday(ports, work.asked, state);
    const mailbox = ports.directory.state.mailboxes.get(mailboxId);
    if (!mailbox) throw notFound('mailbox');
    if (refused !== null) return { state, refusal: refusedAs(refused) };
    const frozen = await freezeDraft(ports, { draftId, operationId: sending.id, mailbox, state });
    if (commitAt !== null && Date.parse(commitAt) > ports.clock.now().getTime()) {
      const held = await scheduleSend(ports, author, work, { frozen, commitAt });
      if (held !== null) return begun(held);
    } else {
      const attempt = await beginSend(ports, author, work, frozen);
      if (attempt !== null) return begun(await runAttempt(ports, author, attempt));
    }
    await ports.content.erase([frozen.mime_id]);
    return begun(state);
  } catch (error) {
    if (!(error instanceof GatewayError) || ERROR_TABLE[error.code].retryable) throw error;
    return { state, refusal: error };
  }
}

/** Time has passed since the request, so the message is sent only if the requester may still send it. */
async function again(ports: Ports, work: Work): Promise<DraftState> {
  const { asked, loaded, author } = work;
  const refused = await refusedToday(ports, asked, loaded.state);
  if (refused !== null) return await write(ports, work, (send) => [withdrawn(send, refused)]);
  const attempt = await beginAgain(ports, author, work, null);
  return attempt === null ? loaded.state : await runAttempt(ports, author, attempt);
}

const putOff = (ports: Ports, work: Work): Promise<DraftState> =>
  write(ports, work, (send) => {
    const commit = work.operation.approval?.attempt?.number ?? 1;
    return putBack(send, { runId: ports.leases.runId, now: ports.clock.now(), commit });
  });

type FactsOf = (send: NonNullable<DraftState['send']>) => readonly DraftFact[];

/** A Sent copy proves the send. Without one, `otherwise` is written, or nothing yet. */
async function judge(ports: Ports, work: Work, otherwise: FactsOf | null): Promise<DraftState> {
  const { loaded } = work;
  const mailbox = ports.directory.state.mailboxes.get(loaded.mailboxId);
  if (!mailbox) return loaded.state;
  const messageIds = await messageIdsOf(ports.personal, loaded.state);
  const copy = await lookIfPossible(ports, otherwise !== null, () =>
    ports.mail.withMailbox(mailbox.id, 'bulk', (mail) => findSentCopy(mail, mailbox, messageIds)),
  );
  if (copy) return await write(ports, work, (send) => [sent(send, 'sent_folder')]);
  return otherwise === null ? loaded.state : await write(ports, work, otherwise);
}

/**
 * An unavailable mail server does not delay a verdict that is due: the outcome is unknown, and the search is
 * repeated later.
 */
async function lookIfPossible<T>(ports: Ports, isDue: boolean, look: () => Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch (error) {
    if (!isDue || !(error instanceof GatewayError) || error.code === 'store_unavailable') throw error;
    ports.log.warn('send: folder of sent mail unavailable', { code: error.code });
    return null;
  }
}

/** Appends to the send only while it is as it was loaded. */
async function write(
  ports: Ports,
  { loaded, author, operation: { id } }: Work,
  facts: FactsOf,
): Promise<DraftState> {
  const { status, send } = loaded.state;
  const decided = await decideAndAppend(ports, author, draft, {
    id: loaded.id,
    decide: (now): readonly DraftFact[] =>
      now.status === status && now.send?.attempts === send?.attempts && now.send?.frozen.operation_id === id
        ? facts(now.send)
        : [],
  });
  return decided.state;
}
