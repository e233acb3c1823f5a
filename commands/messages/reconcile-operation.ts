/** Settles what a cut-off operation left open by looking at source and target, never by repeating. */
import { appendDecided, type Author, loadAggregate } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import { commitOutcome } from '../operations/commit-outcome.ts';
import { lookUpItems, staleResult } from './look-up-items.ts';
import { operation, type OperationState, summarise } from '../operations/operation.ts';
import type { ItemResult, StoredTarget } from '../operations/operation-events.ts';
import { openTargets } from './selection.ts';
import type { CutOff } from './interrupted-operation.ts';

/** From the intent on, milliseconds: then what still cannot be looked up is unknown, so that a person can settle it. */
const LOOKED_FOR_MS = 24 * 60 * 60_000;

export interface Reconciled {
  readonly results: readonly ItemResult[];
  /** Items that looking could not settle: the message is neither where it was nor where it should be. */
  readonly unknown: number;
}

/**
 * Looks up every open item of the operation and appends what was found. The caller holds the operation's lease. Null
 * when the operation has no intent, or another process settled it meanwhile. Throws when mailbox or store are away; of a
 * mailbox that is removed, or was away for a day since the intent, everything is unknown until a look succeeds.
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

/** Throws as long as it is worth another look. */
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

/** What a cut-off operation tells of its items when nobody can look. */
interface Untold extends Pick<CutOff, 'steps'> {
  readonly targets: readonly StoredTarget[];
}

/** One result per message and step, in the order of the targets: unknown, but for messages that were gone before it began. */
export const unresolvedItems = ({ targets, steps }: Untold): readonly ItemResult[] =>
  targets.flatMap((target) =>
    steps.map((step, index) =>
      target.stale
        ? staleResult(target, step, index)
        : { message_id: target.message_id, step: index, action: step.action, outcome: 'unknown' },
    ),
  );
