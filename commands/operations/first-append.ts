/** The first append of an operation: request and policy decision. It expects no stream and claims the key. */
import type { Context } from '../kernel/capability.ts';
import { appendDecided } from '../kernel/decide-and-append.ts';
import type { Appended } from '../ports/event-store.ts';
import { sealJson } from '../kernel/sealed-json.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { Mode } from './authorize-operation.ts';
import { operation, type OperationFact, type OperationState } from './operation.ts';
import type { OperationTarget, RfcMessageIds } from './operation-events.ts';

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

/** Null when the stream exists already: another request used this key first. */
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
