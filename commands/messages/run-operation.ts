/**
 * The one way mail is changed: the intent is appended before the effect, the outcomes after it, under a lease
 * that shows that it runs. A direct request and the commit of an approval both end here.
 */
import { appendOrNull, type Author, streamOf } from '../kernel/decide-and-append.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { type HeldLease, holdLease, LeaseLost } from '../kernel/hold-lease.ts';
import type { Expectation } from '../ports/change-attribution.ts';
import type { MailSession } from '../ports/mail-port.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import { aboutOperation, operation, type OperationFact, summarise } from '../operations/operation.ts';
import type { ActionStep, ItemResult } from '../operations/operation-events.ts';
import { intendedChanges, remainingChanges } from './self-caused-changes.ts';
import { runActions } from './run-actions.ts';
import type { Target } from './selection.ts';

export interface Run {
  readonly operationId: string;
  readonly mailbox: MailboxEntry;
  readonly steps: readonly ActionStep[];
  readonly targets: readonly Target[];
  /** True for the commit of an approval. */
  readonly hasApproval: boolean;
  /** Appends the intent with the observed steps. Its revision, or null when another writer was first. */
  begin(steps: readonly ActionStep[]): Promise<bigint | null>;
  /** Further facts that follow from the outcomes, in the same append. */
  ending(results: readonly ItemResult[]): readonly OperationFact[];
}

export interface Ran {
  readonly results: readonly ItemResult[];
  readonly position: Position;
}

/** `not_begun`: another process runs or changed it. `overtaken`: the lease ran out; another settled it. */
export type RunEnd = Ran | 'not_begun' | 'overtaken';

type Runner = Pick<Ports, 'events' | 'ids' | 'clock' | 'leases' | 'locators' | 'log' | 'changeAttribution'>;

/** Throws what the mail port throws before the intent; afterwards only what the store throws. */
export async function runOperation(
  mail: MailSession,
  ports: Runner,
  author: Author,
  run: Run,
): Promise<RunEnd> {
  const holding = holdLease(ports.leases, run.operationId);
  const originator = { mailboxId: run.mailbox.id, operationId: run.operationId };
  const expecting = ports.changeAttribution.expect(originator, intendedChanges(run.steps, run.targets));
  const begun = { isBegun: false };
  try {
    const observing = observeTargets(mail, run);
    const [steps, expectation, lease] = await Promise.all([observing, expecting, holding]);
    const observed = { ...run, steps };
    const intent = lease && (await run.begin(steps));
    if (lease === null || intent === null) return 'not_begun';
    begun.isBegun = true;
    return await effect(mail, ports, author, { run: observed, intent, expectation, lease });
  } finally {
    // The writer that was first expects its own changes.
    if (!begun.isBegun)
      inPeace(
        ports,
        expecting.then((expectation) => expectation.settle([])),
      );
    inPeace(
      ports,
      holding.then((lease) => lease?.release()),
    );
  }
}

/** Records the state of each destination before the effect, for a later reconciliation. */
async function observeTargets(mail: MailSession, { mailbox, steps }: Run): Promise<readonly ActionStep[]> {
  const observed: ActionStep[] = [];
  for (const step of steps) {
    const folder = mailbox.folders.find(({ number }) => number === step.folder);
    const status = folder && (await mail.folderStatus(folder));
    observed.push(
      status ? { ...step, target_uid_validity: status.uidValidity, target_uid_next: status.uidNext } : step,
    );
  }
  return observed;
}

interface Begun {
  readonly run: Run;
  readonly intent: bigint;
  readonly lease: HeldLease;
  /** Of the changes about to be made: the feed attributes them to this operation. */
  readonly expectation: Expectation;
}

async function effect(
  mail: MailSession,
  ports: Runner,
  author: Author,
  { run, intent, lease, expectation }: Begun,
): Promise<RunEnd> {
  const { mailbox, steps, targets } = run;
  mail.guardWrites(() => {
    lease.assertHeld();
  });
  try {
    const results = await runActions(mail, { mailbox, steps, targets, locators: ports.locators });
    lease.assertHeld();
    const remaining = remainingChanges(steps, targets, results, ports.locators);
    const [position] = await Promise.all([
      appendOutcomes(ports, author, { run, intent, results }),
      expectation.settle(remaining),
    ]);
    return position === null ? 'overtaken' : { results, position };
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    await expectation.settle(intendedChanges(steps, targets));
    return 'overtaken';
  }
}

/** Null when another process found the lease expired and reconciled the operation. */
async function appendOutcomes(
  ports: Runner,
  author: Author,
  { run, intent, results }: { run: Run; intent: bigint; results: readonly ItemResult[] },
): Promise<Position | null> {
  const appended = await appendOrNull(ports, author, {
    stream: streamOf(operation, run.operationId),
    expected: intent,
    catalogue: operation.catalogue,
    facts: [
      { type: 'ActionOutcomesRecorded', data: { results } },
      { type: 'OperationCompleted', data: { summary: summarise(results) } },
      ...run.ending(results),
    ],
    about: aboutOperation(run.operationId, run.mailbox.id, run.hasApproval),
  });
  return appended?.position ?? null;
}

/** Not awaited: a lease that could not be released runs out, and so does an expectation that is not met. */
function inPeace({ log }: Runner, work: Promise<void>): void {
  work.catch((error: unknown) => {
    log.warn('operation: end not recorded', { error: String(error) });
  });
}
