/**
 * The one way mail is changed. Selection resolved and connection held before the first append, so that a refusal leaves
 * no operation and the key free; then two appends, intent before the effect and outcome after it.
 */
import type { MailboxAccess } from '../kernel/access.ts';
import type { Context } from '../kernel/capability.ts';
import { appendFacts, streamOf } from '../kernel/decide-and-append.ts';
import type { MailboxEntry } from '../kernel/directory.ts';
import { GatewayError, notFound } from '../kernel/errors.ts';
import { type HeldLease, holdLease, LeaseLost } from '../kernel/hold-lease.ts';
import type { Expectation } from '../kernel/mail-echoes.ts';
import type { MailSession } from '../kernel/mail-port.ts';
import { type StoredEvent, WrongExpectedRevision } from '../kernel/ports.ts';
import { assertFolderAllowed } from '../kernel/searched-folders.ts';
import type { ActSelect, Cardinality } from '../kernel/select.ts';
import { answerInTime } from './answer-in-time.ts';
import { type Action, checkActions, destinationOf, relocates, stepOf } from './actions.ts';
import { authorizeOperation, type Mode } from './authorize-operation.ts';
import { decideActionPolicy } from '../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import { operation, type OperationReply, replyOf, summarise } from './operation.ts';
import type { ActionStep, ItemResult } from './operation-events.ts';
import { intendedChanges, remainingChanges } from './own-changes.ts';
import { previewOperation } from './preview-operation.ts';
import { replayOperation } from './replay-operation.ts';
import { runActions } from './run-actions.ts';
import { checkSelect, resolveSelection, type Target } from './selection.ts';

export interface OperationRequest {
  readonly capability: string;
  readonly mailboxId: string;
  readonly actions: readonly Action[];
  readonly select: ActSelect;
  readonly cardinality: Cardinality | undefined;
  readonly mode: Mode;
  readonly reason: string | undefined;
}

/**
 * Runs or previews an operation. The answer is that of the first request when the key was used before, whatever policy
 * and mailbox say now: the first append refuses such a key by itself, so it is read only where nothing will be appended.
 */
export async function submitOperation(context: Context, request: OperationRequest): Promise<OperationReply> {
  checkActions(request.actions);
  checkSelect(request.select, request.cardinality);
  const operationId = operationIdOf(context);
  const work = runOrReplay(context, request, operationId);
  return await answerInTime(context, request.mode === 'preview' ? null : operationId, work);
}

async function runOrReplay(
  context: Context,
  request: OperationRequest,
  operationId: string,
): Promise<OperationReply> {
  const started = { appended: false };
  try {
    return await startOperation(context, request, operationId, started);
  } catch (error) {
    if (started.appended) throw error;
    const stored = await readEarlier(context, operationId);
    if (stored.length > 0) return await replayOperation(context, operationId, stored);
    throw error;
  }
}

/** What a request with this key has written before; without a key nothing. */
async function readEarlier(
  { ports, request }: Context,
  operationId: string,
): Promise<readonly StoredEvent[]> {
  if (request.idempotencyKey === null) return [];
  return await ports.events.readStream(streamOf(operation, operationId));
}

async function startOperation(
  context: Context,
  request: OperationRequest,
  operationId: string,
  started: { appended: boolean },
): Promise<OperationReply> {
  const { ports, caller } = context;
  const mailbox = ports.directory.state.mailboxes.get(request.mailboxId);
  const access = caller.mailboxes.get(request.mailboxId);
  if (!mailbox || !access) throw notFound('mailbox');
  if (mailbox.state === 'paused') {
    throw new GatewayError('conflict', 'The mailbox is paused; resume it with PATCH {"paused": false}.');
  }
  const steps = resolveSteps(context, mailbox, access, request.actions);
  return await ports.mail.withMailbox(mailbox.id, 'interactive', (mail) =>
    runWith(mail, context, { request, operationId, mailbox, access, steps, started }),
  );
}

/** The key stands for an operation that was written before; `submitOperation` answers with it. */
const usedBefore = (): GatewayError => new GatewayError('conflict', 'This Idempotency-Key was used before.');

interface Prepared {
  readonly request: OperationRequest;
  readonly operationId: string;
  readonly mailbox: MailboxEntry;
  readonly access: MailboxAccess;
  readonly steps: readonly ActionStep[];
  readonly started: { appended: boolean };
}

const operationIdOf = ({ request, caller, ports }: Context): string =>
  request.idempotencyKey === null
    ? ports.ids.newId('opn')
    : ports.ids.idForKey('opn', caller.org.id, caller.principal.id, request.idempotencyKey);

function resolveSteps(
  { ports }: Context,
  mailbox: MailboxEntry,
  access: MailboxAccess,
  actions: readonly Action[],
): readonly ActionStep[] {
  return actions.map((action) => {
    const destination = destinationOf(mailbox, action, ports.locators);
    if (destination) assertFolderAllowed(access, mailbox, destination);
    return stepOf(action, destination);
  });
}

async function runWith(mail: MailSession, context: Context, prepared: Prepared): Promise<OperationReply> {
  const { request, mailbox, access } = prepared;
  const selection = { access, select: request.select, cardinality: request.cardinality ?? {} };
  const targets = await resolveSelection(mail, context, mailbox, selection);
  const actions = request.actions.map(({ type }) => type);
  const policy = decideActionPolicy(context, mailbox.id, actions, targets.length);
  if (authorizeOperation(request.mode, policy) === 'preview') {
    if ((await readEarlier(context, prepared.operationId)).length > 0) throw usedBefore();
    return previewOperation(context, prepared, targets, policy);
  }
  if (request.actions.some(relocates) && !mail.capabilities.move && !mail.capabilities.uidPlus) {
    throw new GatewayError(
      'operation_unsupported',
      'This mail server offers neither MOVE nor UIDPLUS: a message cannot be moved without risk to others.',
    );
  }
  const { ports } = context;
  const holding = holdLease(ports.leases, prepared.operationId);
  const originator = { mailboxId: mailbox.id, operationId: prepared.operationId };
  const expecting = ports.mailEchoes.expect(originator, intendedChanges(prepared.steps, targets));
  try {
    const observing = observeTargets(mail, prepared);
    const [steps, expectation, lease] = await Promise.all([observing, expecting, holding]);
    return await execute(mail, context, { ...prepared, steps }, { targets, policy, expectation, lease });
  } finally {
    // Whoever was first with this key expects its own changes.
    if (!prepared.started.appended)
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

/** Notes what each destination looks like before the effect, for whoever has to look afterwards. */
async function observeTargets(
  mail: MailSession,
  { mailbox, steps }: Prepared,
): Promise<readonly ActionStep[]> {
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

interface Decided {
  readonly targets: readonly Target[];
  readonly policy: PolicyDecision;
  /** Null when another request runs this operation. */
  readonly lease: HeldLease | null;
  /** Of the changes about to be made: the feed tells them as this operation's. */
  readonly expectation: Expectation;
}

async function execute(
  mail: MailSession,
  context: Context,
  prepared: Prepared,
  decided: Decided,
): Promise<OperationReply> {
  const { ports } = context;
  const { operationId, started } = prepared;
  const { lease } = decided;
  const intent = lease && (await appendIntent(context, prepared, decided));
  // Another request with this key is or was first.
  if (lease === null || intent === null) return await replayFirst(context, operationId);
  started.appended = true;
  const { expectation, targets } = decided;
  const { mailbox, steps } = prepared;
  mail.guardWrites(() => {
    lease.assertHeld();
  });
  try {
    const results = await runActions(mail, { mailbox, steps, targets, locators: ports.locators });
    lease.assertHeld();
    const remaining = remainingChanges(steps, targets, results, ports.locators);
    const [isTold] = await Promise.all([
      appendOutcomes(context, operationId, intent, results),
      expectation.settle(remaining),
    ]);
    if (isTold) return replyOf(operationId, results);
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    await expectation.settle(intendedChanges(steps, targets));
  }
  // This process was held up for so long that its work was judged as cut off.
  return await replayFirst(context, operationId);
}

/** Nobody waits for this: a lease that could not be given up runs out by itself, as does what is expected in vain. */
function inPeace({ log }: Context['ports'], work: Promise<void>): void {
  work.catch((error: unknown) => {
    log.warn('the end of an operation could not be noted', { error: String(error) });
  });
}

/** False when another process found the lease run out and settled the operation by looking. */
async function appendOutcomes(
  context: Context,
  operationId: string,
  intent: bigint,
  results: readonly ItemResult[],
): Promise<boolean> {
  try {
    const { position } = await appendFacts(context.ports, context.author, {
      stream: streamOf(operation, operationId),
      expected: intent,
      catalogue: operation.catalogue,
      facts: [
        { type: 'ActionOutcomesRecorded', data: { results } },
        { type: 'OperationCompleted', data: { summary: summarise(results) } },
      ],
    });
    context.notePosition(position);
    return true;
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return false;
    throw error;
  }
}

const replayFirst = async (context: Context, operationId: string): Promise<OperationReply> =>
  await replayOperation(
    context,
    operationId,
    await context.ports.events.readStream(streamOf(operation, operationId)),
  );

/** The revision of the intent, or null when the stream exists already. */
async function appendIntent(
  { ports, author, fingerprint }: Context,
  { request, operationId, mailbox, steps }: Prepared,
  { targets, policy }: Decided,
): Promise<bigint | null> {
  const reason =
    request.reason === undefined ? null : await ports.personal.seal(author.actor.id, request.reason);
  const submitted = {
    mailbox_id: mailbox.id,
    capability: request.capability,
    fingerprint,
    mode: request.mode,
    reason,
    run_id: ports.leases.runId,
    targets: targets.map(({ message_id, rfc_message_id, stale }) => ({ message_id, rfc_message_id, stale })),
  };
  const decision = { decision: policy.decision, rule_id: policy.ruleId, policy_version: policy.version };
  try {
    const { revision } = await appendFacts(ports, author, {
      stream: streamOf(operation, operationId),
      expected: 'no-stream',
      catalogue: operation.catalogue,
      facts: [
        { type: 'OperationSubmitted', data: submitted },
        { type: 'OperationDecided', data: decision },
        { type: 'ActionsIntended', data: { steps } },
      ],
    });
    return revision;
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return null;
    throw error;
  }
}
