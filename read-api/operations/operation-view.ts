/** An operation as `GET /operations` shows it (`contract.md` 6, 10 and 17). */
import { z } from 'zod';
import { ACTOR_TYPES } from '../../commands/kernel/event.ts';
import { OperationReply, type OperationState, replyOf } from '../../commands/operations/operation.ts';
import { countsOf, OPERATION_STATES, progressOf } from '../../commands/operations/operation-progress.ts';
import { Summary } from '../../commands/operations/operation-events.ts';
import type { OperationRow } from '../../projections/operation-queries.ts';
import { AuditLine } from '../audit/audit-line.ts';

export const OperationStateField = z
  .enum(OPERATION_STATES)
  .describe(
    'running: not every item has an outcome yet; unknown: nobody can tell of one; failed: none was done; else completed.',
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
  status: z.enum(['completed', 'running']).describe('completed: every item has an outcome, see state.'),
  ...common,
  error: z
    .object({ code: z.string(), message: z.string(), smtp_status: z.int().nullable() })
    .optional()
    .describe('Of a send: why it failed, or that nobody can tell.'),
  events: z.array(AuditLine).describe('Its lines of the audit trail, oldest first.'),
});
export type Operation = z.output<typeof Operation>;

export const listed = (row: OperationRow): OperationListed => ({
  operation_id: row.id,
  state: row.state,
  mailbox_id: row.mailboxId,
  capability: row.capability,
  requester: row.requester,
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt.toISOString(),
  ...(row.state === 'running' ? {} : { summary: row.items }),
  ...(row.draftId === null ? {} : { draft_id: row.draftId }),
});

/** The operation as its own stream tells it. Of one that was submitted. */
export function described(id: string, state: OperationState, events: readonly AuditLine[]): Operation {
  const { submitted, mailboxId, updatedAt, results, send } = state;
  if (submitted === null || mailboxId === null) throw new Error(`operation ${id} was never submitted`);
  const counts = countsOf(state);
  const error = send?.outcome?.error;
  return {
    operation_id: id,
    results: results === null ? [] : replyOf(id, results).results,
    status: counts === null ? 'running' : 'completed',
    state: progressOf(counts),
    mailbox_id: mailboxId,
    capability: submitted.capability,
    requester: { id: submitted.by.id, kind: submitted.by.type },
    created_at: submitted.at,
    updated_at: updatedAt ?? submitted.at,
    ...(counts === null ? {} : { summary: counts }),
    ...(send === null ? {} : { draft_id: send.draftId }),
    ...(error == null ? {} : { error }),
    events: [...events],
  };
}
