/** What an operation would do, and what policy would say of it; nothing is run or written. */
import { createHash } from 'node:crypto';
import type { Context } from '../kernel/capability.ts';
import { canonicalJson } from '../kernel/idempotency.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { OperationReply, PreviewItem } from '../operations/operation.ts';
import type { Prepared } from './prepare-operation.ts';
import type { Target } from './selection.ts';

/** The reply of mode `preview`. */
export function previewOperation(
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
      // Who may act on a message by its id may not be one who may read it.
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
