/** An operation as `GET /operations` shows it (`contract.md` 6, 10 and 17). */
import { z } from 'zod';
import { ACTOR_TYPES } from '../../commands/kernel/event.ts';
import { OperationReply, type OperationState, replyOf } from '../../commands/operations/operation.ts';
import { progressAt } from '../../commands/operations/approvals/progress-at.ts';
import { replyOfCheck } from '../../commands/operations/approvals/reply-of-check.ts';
import { countsOf, OPERATION_STATES } from '../../commands/operations/operation-progress.ts';
import { Summary } from '../../commands/operations/operation-events.ts';
import type { OperationRow } from '../../projections/operation-queries.ts';
import { AuditLine } from '../audit/audit-line.ts';

export const OperationStateField = z
  .enum(OPERATION_STATES)
  .describe(
    'waiting: for a decision or a commit; running: not every item has an outcome yet; unknown: nobody can tell of one; ' +
      'failed: none was done; not_run: its check ended first; else completed.',
  );

const common = {
  state: OperationStateField,
  mailbox_id: z.string(),
  capability: z.string(),
  requester: z.object({ id: z.string(), kind: z.enum(ACTOR_TYPES) }),
  created_at: z.string(),
  updated_at: z.string(),
};

export const OperationListed = z.object({
  operation_id: z.string(),
  ...common,
  summary: Summary.optional(),
  draft_id: z.string().optional(),
});
export type OperationListed = z.output<typeof OperationListed>;

export const Operation = OperationReply.omit({ preview: true, draft: true, original_status: true }).extend({
  status: z
    .enum(['completed', 'running', 'awaiting_approval', 'pending_commit'])
    .describe('completed: nothing more happens, see state; awaiting_approval, pending_commit: see approval.'),
  ...common,
  error: z
    .object({ code: z.string(), message: z.string(), smtp_status: z.int().nullable() })
    .optional()
    .describe('Of a send: why it failed, or that nobody can tell.'),
  events: z.array(AuditLine).describe('Its lines of the audit trail, oldest first.'),
});
export type Operation = z.output<typeof Operation>;

const HAS_NO_COUNTS: ReadonlySet<OperationRow['state']> = new Set(['waiting', 'running']);

export const listed = (row: OperationRow): OperationListed => ({
  operation_id: row.id,
  state: row.state,
  mailbox_id: row.mailboxId,
  capability: row.capability,
  requester: row.requester,
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt.toISOString(),
  ...(HAS_NO_COUNTS.has(row.state) ? {} : { summary: row.items }),
  ...(row.draftId === null ? {} : { draft_id: row.draftId }),
});

/** The operation as its own stream tells it. Of one that was submitted. `now`: the moment its check is looked at. */
export function described(
  id: string,
  state: OperationState,
  { events, now }: { readonly events: readonly AuditLine[]; readonly now: Date },
): Operation {
  const { submitted, mailboxId, updatedAt, send } = state;
  if (submitted === null || mailboxId === null) throw new Error(`operation ${id} was never submitted`);
  const error = send?.outcome?.error;
  return {
    ...(state.approval === null ? repliedDirectly(id, state) : repliedUnderCheck(id, state, now)),
    operation_id: id,
    state: progressAt(state, now),
    mailbox_id: mailboxId,
    capability: submitted.capability,
    requester: { id: submitted.by.id, kind: submitted.by.type },
    created_at: submitted.at,
    updated_at: updatedAt ?? submitted.at,
    ...(error == null ? {} : { error }),
    events: [...events],
  };
}

type Replied = Pick<Operation, 'status' | 'results' | 'summary' | 'draft_id' | 'approval'>;

function repliedDirectly(id: string, state: OperationState): Replied {
  const { results, send } = state;
  const counts = countsOf(state);
  return {
    status: counts === null ? 'running' : 'completed',
    results: results === null ? [] : replyOf(id, results).results,
    ...(counts === null ? {} : { summary: counts }),
    ...(send === null ? {} : { draft_id: send.draftId }),
  };
}

function repliedUnderCheck(id: string, state: OperationState, now: Date): Replied {
  const { status, results, summary, draft_id, approval } = replyOfCheck(id, state, now);
  if (status === 'preview') throw new Error(`operation ${id} is no preview`);
  return {
    status,
    results,
    ...(summary && { summary }),
    ...(draft_id !== undefined && { draft_id }),
    ...(approval && { approval }),
  };
}
