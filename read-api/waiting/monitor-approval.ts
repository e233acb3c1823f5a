/** monitor_approval: waits until people have decided, and until the approved operation has run. */
import { z } from 'zod';
import { type Access, defineCapability } from '../../commands/kernel/capability.ts';
import { ListedApproval } from '../../commands/operations/approval-payload.ts';
import { ApprovalIds, approvalsThat } from './approval-wait.ts';
import { type AwaitReply, awaitReplyOf, waitFields } from './await-reply.ts';
import { startOfAll, waitFor } from './wait-for.ts';

const Input = z.strictObject({ approval_ids: ApprovalIds, ...waitFields });
type Input = z.output<typeof Input>;

const access: Access<Input> = { any: ['approvals:read'] };

export const monitorApproval = defineCapability<Input, AwaitReply<ListedApproval>>({
  name: 'monitor_approval',
  title: 'Monitor approval',
  summary: 'Wait until the status of an approval changes.',
  description:
    'Waits up to 50 seconds until the status of one of the approvals changes: decided, expired, committed. Returns status ' +
    'matched with those approvals, or timed_out with none, and a cursor. Pass the cursor to the next call to miss nothing ' +
    'in between. Without a cursor, an approval that changed since it was requested is returned at once. People may take ' +
    'hours: call again, or come back later.',
  effect: 'read',
  access,
  rest: { method: 'post', path: '/approvals/monitor_approval' },
  tool: {
    surface: 'granular',
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
    asTask: true,
  },
  waits: true,
  idempotency: { kind: 'none' },
  input: Input,
  output: awaitReplyOf(ListedApproval),
  handle: async (input, context) => {
    const waiting = { access, input, context };
    const source = approvalsThat(context, { mailboxId: null, approvalIds: input.approval_ids });
    return await waitFor(waiting, await startOfAll(waiting), source);
  },
});
