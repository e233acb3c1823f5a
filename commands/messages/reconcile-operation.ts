/**
 * Settles the open items of an interrupted operation by reading source and target, never by repeating: for the sweeper, and
 * for a request that repeats its key.
 */
import { appendDecided, type Author, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import { commitOutcome } from '../operations/commit-kind.ts';
import { type Interrupted, lookUpItems, staleResult } from './look-up-items.ts';
import {
  operation,
  type OperationReply,
  type OperationState,
  replyOf,
  summarise,
} from '../operations/operation.ts';
import type { ItemResult, OperationEvent, StoredTarget } from '../operations/operation-events.ts';
import { openTargets } from './prepare-operation.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import type { Context } from '../kernel/capability.ts';
import { type EventMetadata, type PastFact, readEvent, type StoredEvent } from '../values/event.ts';
import { keyInProgress, keyReused } from '../kernel/idempotency.ts';
import { approvalReply, originalStatus } from '../operations/approval-reply.ts';

/** From the intent on, milliseconds: unreadable items are unknown then, so that a person can resolve them. */
const LOOKED_FOR_MS = 24 * 60 * 60_000;

interface Reconciled {
  readonly results: readonly ItemResult[];
  /** Items that reading could not settle: the message is neither at its old place nor in its destination. */
  readonly unknown: number;
}

/**
 * Reconciles every open item of the operation and appends the results. The caller holds the operation's
 * lease. Null when the operation has no intent, or another process settled it meanwhile. Throws when the
 * mailbox or the store is unavailable. When the mailbox is removed, or was unavailable for a day since the
 * intent, everything is unknown until a read succeeds.
 */
export async function reconcileOperation(
  ports: Ports,
  author: Author,
  operationId: string,
): Promise<Reconciled | null> {
  const { state, revision } = await loadAggregate(ports.events, operation, operationId);
  const isOver = state.approval !== null && state.approval.phase !== 'committing';
  if (state.steps.length === 0 || isOver) return null;
  const results = await look(ports, operationId, state);
  const changed = results.filter((item) => !(state.results ?? []).some((old) => isSame(old, item)));
  const occurredAt = ports.clock.now();
  const settled =
    state.results === null
      ? [
          { type: 'ActionOutcomesRecorded', data: { results } },
          { type: 'OperationCompleted', data: { summary: summarise(results) } },
        ]
      : [{ type: 'ActionsReconciled', data: { results: changed } }];
  const facts = [...settled, ...commitOutcome(state.approval, results, occurredAt)];
  if (state.results === null || changed.length > 0) {
    const decided = { id: operationId, state, revision, facts, occurredAt };
    if ((await appendDecided(ports, author, operation, decided)) === null) return null;
  }
  return { results, unknown: summarise(results).unknown };
}

/** Throws while another attempt may succeed. */
async function look(
  ports: Ports,
  operationId: string,
  state: OperationState,
): Promise<readonly ItemResult[]> {
  const { directory, locators, mail, personal, clock, log } = ports;
  const mailbox = directory.state.mailboxes.get(state.mailboxId ?? '');
  if (!mailbox || mailbox.state === 'removed') return state.results ?? unresolvedItems(state);
  try {
    const targets = await openTargets(personal, state);
    return await mail.withMailbox(mailbox.id, 'bulk', (session) =>
      lookUpItems(session, { ...state, targets, mailbox, locators }),
    );
  } catch (error) {
    const since = clock.now().getTime() - Date.parse(state.intendedAt ?? '');
    if (state.results !== null || !(since >= LOOKED_FOR_MS)) throw error;
    log.warn('operation: not reconciled for a day', { operationId, error: String(error) });
    return unresolvedItems(state);
  }
}

const isSame = (a: ItemResult, b: ItemResult): boolean =>
  a.message_id === b.message_id && a.step === b.step && a.outcome === b.outcome;

/** The fields that give the results when the mailbox cannot be read. */
interface Unread extends Pick<Interrupted, 'steps'> {
  readonly targets: readonly StoredTarget[];
}

/** One result per message and step, in target order: unknown, except for messages gone before it began. */
const unresolvedItems = ({ targets, steps }: Unread): readonly ItemResult[] =>
  targets.flatMap((target) =>
    steps.map((step, index) =>
      target.stale
        ? staleResult(target, step, index)
        : { message_id: target.message_id, step: index, action: step.action, outcome: 'unknown' },
    ),
  );

export interface Unsettled {
  readonly operationId: string;
  readonly orgId: string | null;
}

/**
 * Settles an operation whose process is gone, or whose outcome is unknown. `later`: not settled yet. `held`: it runs at the
 * moment, or is replayed by its key. Throws what `reconcileOperation` throws.
 */
export async function settleOperation(
  ports: Ports,
  unsettled: Unsettled,
): Promise<'settled' | 'later' | 'held'> {
  if ((await ports.leases.holder(unsettled.operationId)) !== null) return 'held';
  const reconciled = await reconcileUnderLease(ports, unsettled);
  if (reconciled === 'held') return 'held';
  return reconciled?.unknown === 0 ? 'settled' : 'later';
}

async function reconcileUnderLease(
  ports: Ports,
  { operationId, orgId }: Unsettled,
): Promise<Reconciled | null | 'held'> {
  const lease = await holdLease(ports.leases, operationId);
  if (lease === null) return 'held';
  try {
    return await reconcileOperation(ports, systemAuthor(ports, orgId), operationId);
  } finally {
    await lease.release();
  }
}

/**
 * Answers a key that was used before with the operation as it is now; there is never a second effect.
 * Throws `idempotency_key_reused` for another request, `idempotency_in_progress` while the first still runs.
 * When the first was interrupted and its lease is gone, its outcome is reconciled at once. An approval
 * returns its present state, whichever process works on it.
 */
export async function replayOperation(
  context: Context,
  operationId: string,
  stored: readonly StoredEvent[],
): Promise<OperationReply> {
  const { ports, fingerprint } = context;
  // The holder of the lease is about to write its intent.
  if (stored.length === 0) throw keyInProgress(1);
  const { state, orgId } = fold(stored);
  if (state.fingerprint !== fingerprint) throw keyReused();
  context.markReplayed();
  if (state.approval !== null) {
    context.notePosition(stored.at(-1)?.position);
    const reply = approvalReply(operationId, state, ports.clock.now());
    return { ...reply, original_status: originalStatus(state) };
  }
  if (state.results !== null) {
    context.notePosition(stored.at(-1)?.position);
    return { ...replyOf(operationId, state.results), original_status: 'completed' };
  }
  const results = await settleInterrupted(ports, operationId, orgId);
  return { ...replyOf(operationId, results), original_status: 'completed' };
}

function fold(stored: readonly StoredEvent[]): { state: OperationState; orgId: string | null } {
  let orgId: EventMetadata['org_id'] = null;
  const state = stored.reduce((current, event) => {
    const fact = readEvent(operation.catalogue, event);
    if (fact === null) return current;
    orgId ??= fact.meta.org_id;
    return operation.evolve(current, fact as PastFact<OperationEvent>);
  }, operation.initial);
  return { state, orgId };
}

async function settleInterrupted(
  ports: Ports,
  operationId: string,
  orgId: string | null,
): Promise<NonNullable<OperationState['results']>> {
  const holder = await ports.leases.holder(operationId);
  if (holder) {
    const left = holder.until.getTime() - ports.clock.now().getTime();
    throw keyInProgress(Math.min(30, Math.max(1, Math.ceil(left / 1_000))));
  }
  const reconciled = await reconcileUnderLease(ports, { operationId, orgId });
  if (reconciled === null || reconciled === 'held') throw keyInProgress(1);
  return reconciled.results;
}
