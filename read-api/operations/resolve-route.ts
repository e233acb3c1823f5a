/** POST /operations/:operation_id/resolve: a person settles an unknown outcome (`contract.md` 10). */
import { z } from 'zod';
import { assertUnknown, resolveOperation as settle } from '../../commands/email/resolve-operation.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Scope } from '../../commands/values/scopes.ts';
import { scopesOf } from '../../commands/messages/actions.ts';
import type { OperationState } from '../../commands/operations/operation.ts';
import { countsOf } from '../../commands/operations/approval-reply.ts';
import { WORDS } from '../../commands/messages/resolve-actions.ts';
import { Operation } from './operation-view.ts';
import { findOperation, type FoundOperation, showOperation } from './show-operation.ts';

const Input = z.strictObject({
  operation_id: z.string().min(1).max(64),
  outcome: z.enum(WORDS).describe('For everything that is unknown: done or not_done.'),
  reason: z.string().trim().min(1).max(1_000).describe('How you know; kept in the audit trail.'),
});
type Input = z.output<typeof Input>;

export const resolveOperation = defineCapability<Input, Operation>({
  name: 'resolve_operation',
  title: 'Resolve an operation',
  summary: 'Resolve an operation with an unknown outcome, as a signed-in person.',
  description:
    'Settles the unknown outcomes of an operation after you inspected the mailbox (for a send: Sent). Nothing is done in the ' +
    'mailbox by it; a send that was not done can be sent again. conflict: nothing is unknown.',
  effect: 'write',
  access: 'stepped-up-session',
  rest: { method: 'post', path: '/operations/:operation_id/resolve' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, { operation_id: id }, context, settled) => {
      const found = await findOperation(context, id);
      const isUnknown = (countsOf(found.state)?.unknown ?? 0) > 0;
      return !settled && isUnknown ? null : await showOperation(context, found);
    },
  },
  input: Input,
  output: Operation,
  handle: async ({ operation_id: id, outcome, reason }, context) => {
    const { ports, author } = context;
    const found = await findOperation(context, id);
    assertMayResolve(context, found);
    // Refuses what the operation itself rules out before the key is claimed.
    assertUnknown(found.state);
    await context.claim('req', found.state.mailboxId ?? undefined);
    await settle(ports, author, id, { outcome, reason });
    const after = await findOperation(context, id);
    context.notePosition(after.position);
    // The answer includes the line of this request, as the next read does.
    if (after.position !== null) await ports.readModels.waitFor(after.position, 1_000);
    return await showOperation(context, after);
  },
});

/**
 * Owners, admins, and callers with the scope of the operation on its mailbox; for a removed mailbox, which
 * has no grants, its requester. Throws `insufficient_scope`.
 */
function assertMayResolve({ caller, ports }: Context, { state, sight }: FoundOperation): void {
  if (caller.role === 'owner' || caller.role === 'admin') return;
  const mailboxId = state.mailboxId ?? '';
  const isRemoved = (ports.directory.state.mailboxes.get(mailboxId)?.state ?? 'removed') === 'removed';
  if (isRemoved && sight === 'own') return;
  const held = caller.mailboxes.get(mailboxId)?.scopes;
  const required = scopesNeeded(state).filter((scope) => held?.has(scope) !== true);
  if (required.length === 0) return;
  const message = 'Only an owner, an admin, or a person who may do the same on that mailbox can resolve it.';
  throw new GatewayError('insufficient_scope', message, { details: { required } });
}

const scopesNeeded = ({ send, results }: OperationState): readonly Scope[] =>
  send === null ? scopesOf((results ?? []).map(({ action }) => ({ type: action }))) : ['drafts:send'];
