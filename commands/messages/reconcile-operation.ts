/** Settles the open items of an interrupted operation by reading source and target, never by repeating. */
import { appendDecided, type Author, loadAggregate } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import { commitOutcome } from '../operations/commit-outcome.ts';
import { lookUpItems, staleResult } from './look-up-items.ts';
import { operation, type OperationState, summarise } from '../operations/operation.ts';
import type { ItemResult, StoredTarget } from '../operations/operation-events.ts';
import { openTargets } from './selection.ts';
import type { CutOff } from './interrupted-operation.ts';

/** From the intent on, milliseconds: unreadable items are unknown then, so that a person can resolve them. */
const LOOKED_FOR_MS = 24 * 60 * 60_000;

export interface Reconciled {
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
interface Untold extends Pick<CutOff, 'steps'> {
  readonly targets: readonly StoredTarget[];
}

/** One result per message and step, in target order: unknown, except for messages gone before it began. */
export const unresolvedItems = ({ targets, steps }: Untold): readonly ItemResult[] =>
  targets.flatMap((target) =>
    steps.map((step, index) =>
      target.stale
        ? staleResult(target, step, index)
        : { message_id: target.message_id, step: index, action: step.action, outcome: 'unknown' },
    ),
  );
