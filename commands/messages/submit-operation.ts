/** From request to answer: prepared, then previewed or run. Equal keys meet at the first append; one wins. */
import type { Context } from '../kernel/capability.ts';
import { streamOf } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import { awaitClaim } from '../kernel/idempotency.ts';
import { untilRightsKnown } from '../kernel/rights-known.ts';
import { canonicalJson } from '../values/canonical-json.ts';
import type { MailSession } from '../ports/mail-port.ts';
import type { StoredEvent } from '../values/event.ts';
import { type ApprovalMode, termsFor } from '../policy/approval-terms.ts';
import { checkActions, neverDirect } from './actions.ts';
import { answerInTime } from '../operations/answer-in-time.ts';
import { fixActions } from './actions-manifest.ts';
import { requestApproval } from '../operations/request-approval.ts';
import {
  appendFirst,
  authorizeOperation,
  decidedFact,
  type Submitted,
  submittedFact,
} from '../operations/authorize-operation.ts';
import {
  operation,
  type OperationFact,
  operationIdOf,
  type OperationReply,
  type PreviewItem,
  replyOf,
} from '../operations/operation.ts';
import {
  admitOperation,
  assertSupported,
  checkSelect,
  type OperationRequest,
  type Prepared,
  prepareOperation,
  type Target,
} from './prepare-operation.ts';
import { replayOperation } from './reconcile-operation.ts';
import { runOperation } from './run-operation.ts';
import { createHash } from 'node:crypto';
import type { PolicyDecision } from '../policy/decide-policy.ts';

/** Set once the operation has an event: from then on an error is thrown as it is, without a replay. */
interface Started {
  isAppended: boolean;
}

/**
 * Runs or previews an operation. A key used before returns the answer of the first request, whatever policy
 * and mailbox are now. The first append refuses such a key itself, so it is read only where nothing will be
 * appended.
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
  const started: Started = { isAppended: false };
  try {
    // No legal hold may be missing where it destroys.
    await untilRightsKnown(context.ports.directory);
    const admitted = admitOperation(context, request, operationId);
    return await context.ports.mail.withMailbox(admitted.mailbox.id, 'interactive', async (mail) => {
      const prepared = await prepareOperation(mail, context, admitted);
      return await answer(mail, context, prepared, started);
    });
  } catch (error) {
    if (started.isAppended || isAway(error)) throw error;
    const stored = await readEarlier(context, operationId);
    if (stored.length > 0) return await replayOperation(context, operationId, stored);
    throw error;
  }
}

/** The caller has waited for the unavailable store already: it is not read again. */
const isAway = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'store_unavailable';

/** What an earlier request with this key wrote; nothing without a key. */
async function readEarlier(
  { ports, request }: Context,
  operationId: string,
): Promise<readonly StoredEvent[]> {
  if (request.idempotencyKey === null) return [];
  return await ports.events.readStream(streamOf(operation, operationId));
}

/** The key names an operation that was written before; `submitOperation` answers with it. */
const usedBefore = (): GatewayError => new GatewayError('conflict', 'This Idempotency-Key was used before.');

async function answer(
  mail: MailSession,
  context: Context,
  prepared: Prepared,
  started: Started,
): Promise<OperationReply> {
  const { operationId, request, targets, policy } = prepared;
  const admission = authorizeOperation({
    mode: request.mode,
    policy,
    mayRequest: prepared.access.scopes.has('approvals:request'),
    neverDirect: request.actions.some(neverDirect),
  });
  if (admission === 'preview') {
    if ((await readEarlier(context, operationId)).length > 0) throw usedBefore();
    return previewOperation(context, prepared, targets, policy);
  }
  assertSupported(mail.capabilities, prepared);
  return admission === 'run'
    ? await runDirectly(mail, context, prepared, started)
    : await ask(mail, context, prepared, admission.request);
}

/** Fixes what would happen and requests the approval: nothing changes, and no other message will. */
async function ask(
  mail: MailSession,
  context: Context,
  prepared: Prepared,
  mode: ApprovalMode,
): Promise<OperationReply> {
  const { operationId, policy } = prepared;
  const reply = await requestApproval(context, {
    operationId,
    submitted: submittedOf(prepared),
    policy,
    terms: termsFor(mode, policy),
    ...(await fixActions(mail, context, prepared)),
    supersedes: null,
  });
  return reply ?? (await replayFirst(context, operationId));
}

function submittedOf({ request, mailbox, targets }: Prepared): Submitted {
  const { capability, mode, reason } = request;
  if (mode === 'preview') throw new Error('a preview is not submitted');
  return { mailboxId: mailbox.id, capability, mode, reason, targets };
}

async function runDirectly(
  mail: MailSession,
  context: Context,
  prepared: Prepared,
  started: Started,
): Promise<OperationReply> {
  const { ports, author } = context;
  const { operationId, mailbox, steps, targets, policy } = prepared;
  const submitted = await submittedFact(context, submittedOf(prepared));
  const end = await runOperation(mail, ports, author, {
    operationId,
    mailbox,
    steps,
    targets,
    begin: async (observed) => {
      const intended: OperationFact = { type: 'ActionsIntended', data: { steps: [...observed] } };
      const first = await appendFirst(context, operationId, [submitted, decidedFact(policy), intended]);
      started.isAppended = first !== null;
      return first?.appended.revision ?? null;
    },
    hasApproval: false,
    ending: () => [],
  });
  if (end === 'not_begun' || end === 'overtaken') return await replayFirst(context, operationId);
  context.notePosition(end.position);
  return replyOf(operationId, end.results);
}

const replayFirst = async (context: Context, operationId: string): Promise<OperationReply> =>
  await replayOperation(context, operationId, await awaitClaim(context.ports, operationId));

/** The reply of mode `preview`. */
function previewOperation(
  { ports }: Context,
  { mailbox, access, steps }: Pick<Prepared, 'mailbox' | 'access' | 'steps'>,
  targets: readonly Target[],
  policy: PolicyDecision,
): OperationReply {
  const actions = steps.map(({ action, folder, flags_add, flags_remove }) => ({
    type: action,
    ...(folder === undefined ? {} : { folder: ports.locators.folder(mailbox.number, folder) }),
    ...(flags_add === undefined ? {} : { flags_add }),
    ...(flags_remove === undefined ? {} : { flags_remove }),
  }));
  const items = targets.map(({ message_id, stale }) => ({ message_id, stale, actions }));
  return {
    status: 'preview',
    results: [],
    preview: {
      content_hash: createHash('sha256').update(canonicalJson(items)).digest('hex'),
      count: items.length,
      // The right to act on a message by its id does not include the right to read it.
      items: access.scopes.has('messages:read')
        ? items.map((item, index) => ({ ...item, ...faceOf(targets[index]) }))
        : items,
      policy: { decision: policy.decision, rule_id: policy.ruleId, version: policy.version },
    },
  };
}

const faceOf = (target: Target | undefined): Pick<PreviewItem, 'subject' | 'from'> =>
  target?.shown === undefined
    ? {}
    : { subject: target.shown.subject, ...(target.shown.from && { from: [...target.shown.from] }) };
