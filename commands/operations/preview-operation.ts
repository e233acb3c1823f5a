/** What an operation would do, and what policy would say of it; nothing is run or written. */
import { createHash } from 'node:crypto';
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../kernel/directory.ts';
import { canonicalJson } from '../kernel/idempotency.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { OperationReply } from './operation.ts';
import type { ActionStep, OperationTarget } from './operation-events.ts';

/** The reply of mode `preview`. */
export function previewOperation(
  { ports }: Context,
  { mailbox, steps }: { readonly mailbox: MailboxEntry; readonly steps: readonly ActionStep[] },
  targets: readonly OperationTarget[],
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
      items,
      policy: { decision: policy.decision, rule_id: policy.ruleId, version: policy.version },
    },
  };
}
