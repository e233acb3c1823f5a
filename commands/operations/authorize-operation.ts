/** Authorization mode × policy → what happens now (`contract.md` 6, modes), and the first append, which records both. */
import { GatewayError } from '../values/errors.ts';
import type { ApprovalMode } from '../policy/approval-terms.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { Context } from '../kernel/capability.ts';
import { appendDecided } from '../kernel/decide-and-append.ts';
import type { Appended } from '../ports/event-store.ts';
import { sealJson } from '../kernel/sealed-json.ts';
import { operation, type OperationFact, type OperationState } from './operation.ts';
import type { OperationTarget, RfcMessageIds } from './operation-events.ts';

export const MODES = [
  'execute_or_request_approval',
  'execute',
  'request_approval',
  'prepare',
  'preview',
] as const;
export type Mode = (typeof MODES)[number];

interface AskedMode {
  readonly mode: Mode;
  readonly policy: PolicyDecision;
  /** The caller holds `approvals:request` on the mailbox. */
  readonly mayRequest: boolean;
  /** Never runs directly, even where policy allows it: an expunge runs through its approval. Absent = no. */
  readonly neverDirect?: boolean;
}

/** `request`: an approval is requested, with the terms of this mode. */
type Admission = 'run' | 'preview' | { readonly request: ApprovalMode };

/**
 * Pure. Throws `policy_denied`; `approval_required` for a mode that only executes; `insufficient_scope` when an
 * approval is needed that the caller may not request.
 */
export function authorizeOperation(asked: AskedMode): Admission {
  const { mode, policy, neverDirect = false } = asked;
  if (mode === 'preview') return 'preview';
  const details = { policy: { decision: policy.decision, rule_id: policy.ruleId, version: policy.version } };
  if (policy.decision === 'deny') {
    throw new GatewayError('policy_denied', `Policy rule ${policy.ruleId} denies this.`, { details });
  }
  if (mode === 'request_approval' || mode === 'prepare') return request(asked, mode);
  const needsApproval = neverDirect || policy.decision === 'require';
  if (!needsApproval) return 'run';
  if (mode === 'execute') throw new GatewayError('approval_required', approvalRequired(asked), { details });
  return request(asked, neverDirect ? 'prepare' : mode);
}

const THEN = 'then run it with email_requests, action commit.';

const approvalRequired = ({ policy: { decision, ruleId } }: AskedMode): string =>
  decision === 'require'
    ? `Policy rule ${ruleId} requires a person's approval, which mode execute does not request. Nothing was done. Ask with email_act, authorization.mode request_approval; once it is approved, ${THEN}`
    : `This never runs at once. Nothing was done. Prepare it with email_act, authorization.mode prepare; ${THEN}`;

function request({ mayRequest }: AskedMode, mode: ApprovalMode): Admission {
  if (mayRequest) return { request: mode };
  const message = 'This needs an approval, and the token lacks the scope approvals:request.';
  throw new GatewayError('insufficient_scope', message, { details: { required: ['approvals:request'] } });
}

export interface Submitted {
  readonly mailboxId: string;
  readonly capability: string;
  readonly mode: Exclude<Mode, 'preview'>;
  /** Kept in the audit trail, sealed under the requester's key. */
  readonly reason: string | undefined;
  readonly targets: readonly OperationTarget[];
}

/** What was requested; the metadata of the event names the requester. */
export async function submittedFact(
  { ports, author, fingerprint }: Pick<Context, 'ports' | 'author' | 'fingerprint'>,
  { mailboxId, capability, mode, reason, targets }: Submitted,
): Promise<OperationFact> {
  const ids: RfcMessageIds = targets.map((target) => target.rfc_message_id);
  return {
    type: 'OperationSubmitted',
    data: {
      mailbox_id: mailboxId,
      capability,
      fingerprint,
      mode,
      reason: reason === undefined ? null : await ports.personal.seal(author.actor.id, reason),
      run_id: ports.leases.runId,
      targets: targets.map(({ message_id, stale }) => ({ message_id, stale })),
      rfc_message_ids: targets.length === 0 ? null : await sealJson(ports.personal, mailboxId, ids),
    },
  };
}

export const decidedFact = ({ decision, ruleId, version }: PolicyDecision): OperationFact => ({
  type: 'OperationDecided',
  data: { decision, rule_id: ruleId, policy_version: version },
});

/** The first append: it expects no stream and claims the key. Null when another request used this key first. */
export async function appendFirst(
  { ports, author }: Pick<Context, 'ports' | 'author'>,
  operationId: string,
  facts: readonly OperationFact[],
  occurredAt = ports.clock.now(),
): Promise<{ readonly state: OperationState; readonly appended: Appended } | null> {
  const first = {
    id: operationId,
    state: operation.initial,
    revision: 'no-stream',
    facts,
    occurredAt,
  } as const;
  return await appendDecided(ports, author, operation, first);
}
