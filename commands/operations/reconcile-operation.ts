/** Settles what a cut-off operation left open by looking at source and target, never by repeating. */
import { appendFacts, type Author, loadAggregate, streamOf } from '../kernel/decide-and-append.ts';
import { type Ports, WrongExpectedRevision } from '../kernel/ports.ts';
import { commitOutcome } from './approvals/commit-outcome.ts';
import { lookUpItems } from './look-up-items.ts';
import { operation, summarise } from './operation.ts';
import type { ItemResult } from './operation-events.ts';

export interface Reconciled {
  readonly results: readonly ItemResult[];
  /** Items that looking could not settle: the message is neither where it was nor where it should be. */
  readonly unknown: number;
}

/**
 * Looks up every open item of the operation and appends what was found. The caller holds the operation's lease. Null
 * when the operation has no intent, or another process settled it meanwhile. Throws when mailbox or store are away.
 */
export async function reconcileOperation(
  ports: Ports,
  author: Author,
  operationId: string,
): Promise<Reconciled | null> {
  const { state, revision } = await loadAggregate(ports.events, operation, operationId);
  const mailbox = state.mailboxId === null ? undefined : ports.directory.state.mailboxes.get(state.mailboxId);
  const isOver = state.approval !== null && !state.approval.committing;
  if (!mailbox || state.steps.length === 0 || isOver) return null;
  const results = await ports.mail.withMailbox(mailbox.id, 'bulk', (mail) =>
    lookUpItems(mail, { ...state, mailbox, locators: ports.locators }),
  );
  const changed = results.filter((item) => !(state.results ?? []).some((old) => isSame(old, item)));
  const settled =
    state.results === null
      ? [
          { type: 'ActionOutcomesRecorded', data: { results } },
          { type: 'OperationCompleted', data: { summary: summarise(results) } },
        ]
      : [{ type: 'ActionsReconciled', data: { results: changed } }];
  const facts = [...settled, ...commitOutcome(state.approval, results, ports.clock.now())];
  if (state.results === null || changed.length > 0) {
    try {
      const stream = streamOf(operation, operationId);
      await appendFacts(ports, author, { stream, expected: revision, catalogue: operation.catalogue, facts });
    } catch (error) {
      if (error instanceof WrongExpectedRevision) return null;
      throw error;
    }
  }
  return { results, unknown: summarise(results).unknown };
}

const isSame = (a: ItemResult, b: ItemResult): boolean =>
  a.message_id === b.message_id && a.step === b.step && a.outcome === b.outcome;
