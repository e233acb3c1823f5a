/** cancel_approval: withdraws an approval before anything of it ran. */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { Approval } from '../operations/approval-payload.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { operation } from '../operations/operation.ts';
import { decideCancel } from '../operations/approval-decisions.ts';
import { releaseDraftOf } from '../drafts/end-review.ts';
import { ApprovalId, assertMayAct, changedOnce, findApproval, showApproval } from './find-approval.ts';

const Input = z.strictObject({
  approval_id: ApprovalId,
  reason: z.string().min(1).max(1_000).optional().describe('Kept with the approval.'),
});
type CancelInput = z.output<typeof Input>;

export const cancelApproval = defineCapability<CancelInput, Approval>({
  name: 'cancel_approval',
  title: 'Cancel approval',
  summary: 'Withdraw an approval; nothing of it will run.',
  description:
    'Withdraw an approval that waits for a decision or for its commit. Nothing of it will run, and its draft can be edited ' +
    'again. approval_not_pending: too late, it was already decided or run; see its status.',
  effect: 'write',
  // Free in a session: a person without a grant may still withdraw what was requested in their name.
  access: { any: ['approvals:cancel'], freeInSession: true },
  rest: { method: 'post', path: '/approvals/:approval_id/cancel_approval' },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  },
  idempotency: changedOnce,
  input: Input,
  output: Approval,
  handle: (input, context) => cancelAsCaller(context, input),
});

/** Withdraws for the caller. Throws the errors of `cancel_approval`; early ones leave the key unclaimed. */
export async function cancelAsCaller(
  context: Context,
  { approval_id, reason: why }: CancelInput,
): Promise<Approval> {
  const { ports, author, caller } = context;
  const found = await findApproval(context, approval_id);
  const { requesterId, behindId } = found;
  // A person who lost the grant can still withdraw what was requested in their name.
  const isOwn = caller.actor === 'person' && caller.principal.id === behindId;
  if (!isOwn) assertMayAct(context, found, 'approvals:cancel', [requesterId, behindId]);
  decideCancel(found.loaded.state, { reason: null, now: ports.clock.now() });
  const reason = why === undefined ? null : await ports.personal.seal(author.actor.id, why);
  await context.claim('req', found.mailboxId);
  const { operationId } = found;
  const { state, position } = await decideAndAppend(ports, author, operation, {
    id: operationId,
    loaded: found.loaded,
    decide: (state, now) => decideCancel(state, { reason, now }),
  });
  await releaseDraftOf(ports, author, operationId, state);
  context.notePosition(position);
  return await showApproval(context, operationId, state);
}
