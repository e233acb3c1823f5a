/**
 * The one way mail is changed: the intent is appended before the effect, the outcomes after it, under a lease
 * that shows that it runs. A direct request and the commit of an approval both end here.
 */
import { appendOrNull, type Author, streamOf } from '../kernel/decide-and-append.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { assertStillFree, HoldPlaced, type Loss } from '../kernel/legal-holds.ts';
import { type HeldLease, holdLease, LeaseLost } from '../kernel/hold-lease.ts';
import type { Expectation } from '../ports/change-attribution.ts';
import type { ActionOutcome, MailSession } from '../ports/mail-port.ts';
import type { Locators, Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import { aboutOperation, operation, type OperationFact, summarise } from '../operations/operation.ts';
import type { ActionStep, ItemResult } from '../operations/operation-events.ts';
import { destroys } from './actions.ts';
import { intendedChanges, remainingChanges } from './self-caused-changes.ts';
import type { Target } from './prepare-operation.ts';
import { GatewayError } from '../values/errors.ts';
import type { FolderRef } from '../mail/message.ts';

interface Run {
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

interface Ran {
  readonly results: readonly ItemResult[];
  readonly position: Position;
}

/** `not_begun`: another process runs or changed it. `overtaken`: the lease ran out; another settled it. */
type RunEnd = Ran | 'not_begun' | 'overtaken';

type Runner = Pick<
  Ports,
  'events' | 'ids' | 'clock' | 'leases' | 'locators' | 'log' | 'changeAttribution' | 'directory'
>;

/** Throws what the mail port throws before the intent; afterwards only what the store throws. */
export async function runOperation(
  mail: MailSession,
  ports: Runner,
  author: Author,
  run: Run,
): Promise<RunEnd> {
  const holding = holdExpecting(ports, run);
  const begun = { isBegun: false };
  try {
    const [steps, held] = await Promise.all([observeTargets(mail, run), holding]);
    const observed = { ...run, steps };
    const intent = held && (await run.begin(steps));
    if (held === null || intent === null) return 'not_begun';
    begun.isBegun = true;
    return await effect(mail, ports, author, { run: observed, intent, ...held });
  } finally {
    // The writer that was first expects its own changes.
    const end = async (held: Held | null): Promise<void> => {
      await held?.lease.release(begun.isBegun ? undefined : () => held.expectation.settle([]));
    };
    inPeace(ports, holding.then(end));
  }
}

/** The lease of the operation, and its changes expected: taken and noted in one step, and ended in one. */
interface Held {
  readonly lease: HeldLease;
  /** Of the changes about to be made: the feed attributes them to this operation. */
  readonly expectation: Expectation;
}

/** Null when another process holds the lease. */
async function holdExpecting({ leases, changeAttribution }: Runner, run: Run): Promise<Held | null> {
  const name = run.operationId;
  const originator = { mailboxId: run.mailbox.id, operationId: name };
  const changes = intendedChanges(run.steps, run.targets);
  const expecting: { expectation: Expectation | null } = { expectation: null };
  const lease = await holdLease(leases, name, async () => {
    expecting.expectation = await changeAttribution.expectUnder({ leases, name }, originator, changes);
    return expecting.expectation !== null;
  });
  const { expectation } = expecting;
  return lease && expectation && { lease, expectation };
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

interface Begun extends Held {
  readonly run: Run;
  readonly intent: bigint;
}

async function effect(
  mail: MailSession,
  ports: Runner,
  author: Author,
  { run, intent, lease, expectation }: Begun,
): Promise<RunEnd> {
  const { mailbox, steps, targets } = run;
  const loss: Loss | null = destroys(mailbox, steps) ? { kind: 'messages', mailboxId: mailbox.id } : null;
  if (loss !== null) await ports.directory.untilCurrent();
  mail.guardWrites(() => {
    lease.assertHeld();
    if (loss !== null) assertStillFree(ports.directory, loss);
  });
  try {
    const results = await runActions(mail, { mailbox, steps, targets, locators: ports.locators });
    lease.assertHeld();
    const remaining = remainingChanges(steps, targets, results, ports.locators);
    const position = await appendOutcomes(ports, author, { run, intent, results });
    await lease.release(() => expectation.settle(remaining));
    return position === null ? 'overtaken' : { results, position };
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    await lease.release(() => expectation.settle(intendedChanges(steps, targets)));
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

interface Plan {
  readonly mailbox: MailboxEntry;
  readonly steps: readonly ActionStep[];
  readonly targets: readonly Target[];
  readonly locators: Locators;
}

const STALE = {
  code: 'message_stale',
  message: 'The message is no longer there; query again for its new id.',
};

/** Runs the steps: one result per message and step, in the order of the targets. Never throws for a refusal of the mail server. */
async function runActions(mail: MailSession, plan: Plan): Promise<readonly ItemResult[]> {
  const results = new Map<string, ItemResult>();
  const keyOf = (target: Target, step: number): string => `${target.message_id}/${String(step)}`;
  const alive = new Set(plan.targets.filter((target) => !target.stale));
  for (const [index, step] of plan.steps.entries()) {
    for (const group of byFolder([...alive])) {
      const ended = await performAll(mail, plan, { step, index }, group);
      for (const [target, result] of ended) results.set(keyOf(target, index), result);
      for (const [target] of ended.filter(([, { outcome }]) => outcome !== 'done')) alive.delete(target);
    }
  }
  return plan.targets.flatMap((target) =>
    plan.steps.map(({ action }, step): ItemResult => {
      const known = results.get(keyOf(target, step));
      if (known) return known;
      const base = { message_id: target.message_id, step, action };
      return target.stale && step === 0
        ? { ...base, outcome: 'failed', error: STALE }
        : { ...base, outcome: 'skipped' };
    }),
  );
}

interface Group {
  readonly folder: FolderRef;
  readonly uidValidity: number;
  readonly targets: readonly Target[];
}

function byFolder(targets: readonly Target[]): readonly Group[] {
  const groups = Map.groupBy(targets, ({ ref }) => `${String(ref.folder.number)}/${String(ref.uidValidity)}`);
  return [...groups.values()].flatMap((members) => {
    const [first] = members;
    return first ? [{ folder: first.ref.folder, uidValidity: first.ref.uidValidity, targets: members }] : [];
  });
}

/** One result for each message of the group. */
async function performAll(
  mail: MailSession,
  plan: Plan,
  { step, index }: { readonly step: ActionStep; readonly index: number },
  group: Group,
): Promise<readonly (readonly [Target, ItemResult])[]> {
  try {
    const outcomes = await perform(mail, plan, step, group);
    return group.targets.map((target) => {
      const outcome = outcomes.get(target.ref.uid) ?? { outcome: 'unknown' };
      return [target, resultOf(plan, { target, step, index }, outcome)];
    });
  } catch (error) {
    if (!(error instanceof HoldPlaced)) throw error;
    const { code, message } = error.refusal;
    return group.targets.map((target) => [
      target,
      {
        message_id: target.message_id,
        step: index,
        action: step.action,
        outcome: 'failed',
        error: { code, message },
      },
    ]);
  }
}

async function perform(
  mail: MailSession,
  { mailbox }: Plan,
  step: ActionStep,
  { folder, uidValidity, targets }: Group,
): Promise<ReadonlyMap<number, ActionOutcome>> {
  const uids = targets.map(({ ref }) => ref.uid);
  if (step.action === 'set_flags') {
    const change = { add: step.flags_add ?? [], remove: step.flags_remove ?? [] };
    return await mail.setFlags(folder, uidValidity, uids, change);
  }
  if (step.action === 'expunge') return await mail.expungeMessages(folder, uidValidity, uids);
  const destination = mailbox.folders.find(({ number }) => number === step.folder);
  if (!destination) throw new GatewayError('internal_error', 'The destination folder is gone.');
  if (step.action === 'copy') return await mail.copyMessages(folder, uidValidity, uids, destination);
  // A message already in its destination is left alone: its id stays valid.
  if (destination.number === folder.number) {
    return new Map(uids.map((uid) => [uid, { outcome: 'done', newUid: uid, newUidValidity: uidValidity }]));
  }
  return await mail.moveMessages(folder, uidValidity, uids, destination);
}

function resultOf(
  { mailbox, locators }: Plan,
  { target, step, index }: { target: Target; step: ActionStep; index: number },
  outcome: ActionOutcome,
): ItemResult {
  const base = { message_id: target.message_id, step: index, action: step.action };
  switch (outcome.outcome) {
    case 'unknown':
      return { ...base, outcome: 'unknown' };
    case 'failed':
      return outcome.reason === 'missing'
        ? { ...base, outcome: 'failed', error: STALE }
        : { ...base, outcome: 'failed', error: { code: 'provider_rejected', message: outcome.text } };
    case 'done': {
      const { newUid, newUidValidity } = outcome;
      if (step.folder === undefined || newUid === null || newUidValidity === null)
        return { ...base, outcome: 'done' };
      const place = {
        mailboxNumber: mailbox.number,
        folderNumber: step.folder,
        uidValidity: newUidValidity,
        uid: newUid,
      };
      return { ...base, outcome: 'done', new_message_id: locators.message(place) };
    }
  }
}
