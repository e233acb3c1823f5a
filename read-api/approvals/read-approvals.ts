/** GET /approvals, /approvals/:approval_id and /approvals/:approval_id/preview. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { Approval } from '../../commands/operations/approval-payload.ts';
import { APPROVAL_STATUSES } from '../../commands/operations/approval-state.ts';
import { APPROVAL_PARTS } from '../../projections/approval-queries.ts';
import { AsOfField } from '../paging/as-of.ts';
import { mailboxFilter, pageFields } from '../paging/page.ts';
import { ApprovalPreview } from './preview/approval-preview.ts';
import { ApprovalId } from './approval-access.ts';
import { ApprovalCollection, showApproval, showApprovals, showPreview } from './show-approvals.ts';

export const ApprovalPart = z
  .enum(APPROVAL_PARTS)
  .describe("requester: yours or your agents'; approver: waiting for your vote.");

const ListInput = z.strictObject({
  status: z.enum(APPROVAL_STATUSES).optional(),
  mailbox_id: z.string().min(1).max(64).optional(),
  role: ApprovalPart.optional(),
  ...pageFields,
});
type ListInput = z.output<typeof ListInput>;

const access = { any: ['approvals:read'] } as const;
const readOnly = { effect: 'read', access, tool: null, idempotency: { kind: 'none' } } as const;

export const listApprovals = defineCapability<ListInput, ApprovalCollection>({
  ...readOnly,
  name: 'list_approvals',
  title: 'List approvals',
  summary:
    'Approvals, newest first: yours, your agents’, those on mailboxes you may read, and those you may decide.',
  description:
    'Operations that wait or waited for a decision, newest first; role "approver" returns those that wait for your vote.',
  rest: { method: 'get', path: '/approvals' },
  input: ListInput,
  output: ApprovalCollection,
  handle: ({ status, mailbox_id, role = null, limit, cursor }, context) =>
    showApprovals(context, {
      statuses: status === undefined ? null : [status],
      mailboxId: mailboxFilter(context, mailbox_id),
      role,
      limit,
      cursor,
    }),
});

const GetInput = z.strictObject({ approval_id: ApprovalId, as_of: AsOfField });
type GetInput = z.output<typeof GetInput>;

export const getApproval = defineCapability<GetInput, Approval>({
  ...readOnly,
  name: 'get_approval',
  title: 'Get an approval',
  summary: 'One approval: what would run, who requested it and why, the votes, and the result of its commit.',
  description: 'One approval with its manifest; as_of returns it as it was at that time.',
  rest: { method: 'get', path: '/approvals/:approval_id' },
  input: GetInput,
  output: Approval,
  handle: ({ approval_id, as_of }, context) => showApproval(context, approval_id, as_of),
});

const PreviewInput = z.strictObject({ approval_id: ApprovalId });
type PreviewInput = z.output<typeof PreviewInput>;

export const previewApproval = defineCapability<PreviewInput, ApprovalPreview>({
  ...readOnly,
  name: 'preview_approval',
  title: 'Preview an approval',
  summary: 'What an approver sees: the manifest, its hash, and both rendered for people.',
  description: 'Everything that would happen and nothing else, as text and as HTML for a sandboxed frame.',
  rest: { method: 'get', path: '/approvals/:approval_id/preview' },
  input: PreviewInput,
  output: ApprovalPreview,
  handle: ({ approval_id }, context) => showPreview(context, approval_id),
});
