/** An operation as `GET /operations` shows it (`contract.md` 6, 10 and 17). */
import { z } from 'zod';
import { ACTOR_TYPES } from '../../commands/values/event.ts';
import type { PersonalData } from '../../commands/ports/ports.ts';
import {
  OperationReply,
  type OperationState,
  replyOf,
  summarise,
} from '../../commands/operations/operation.ts';
import {
  approvalOfReply,
  approvalReply,
  approvalStatusOf,
  countsOf,
  OPERATION_STATES,
  progressAt,
} from '../../commands/operations/approval-reply.ts';
import { isUnrun } from '../../commands/operations/approval-state.ts';
import { Summary } from '../../commands/operations/operation-events.ts';
import type { OperationRow } from '../../projections/operation-queries.ts';
import { AuditLine } from '../audit/audit-line.ts';
import { openManifest } from '../../commands/operations/manifest.ts';

export const OperationStateField = z
  .enum(OPERATION_STATES)
  .describe(
    'waiting: for a decision or a commit; running: some items have no outcome yet; unknown: the outcome of an item is ' +
      'unknown; failed: no item succeeded; not_run: its approval ended first; else completed.',
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
    .optional()
    .describe(
      'completed: it ran, see state; awaiting_approval, pending_commit: see approval; absent: it never ran (not_run).',
    ),
  ...common,
  error: z
    .object({ code: z.string(), message: z.string(), smtp_status: z.int().nullable() })
    .optional()
    .describe('Of a send: why it failed, or that the outcome is unknown.'),
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

/**
 * A submitted operation, from its own stream, with the status of its approval at `now`. Throws `store_unavailable`.
 */
export async function described(
  ports: { readonly personal: Pick<PersonalData, 'open'> },
  id: string,
  state: OperationState,
  { events, now }: { readonly events: readonly AuditLine[]; readonly now: Date },
): Promise<Operation> {
  const { submitted, mailboxId, updatedAt, send, approval } = state;
  if (submitted === null || mailboxId === null) throw new Error(`operation ${id} was never submitted`);
  const error = send?.outcome?.error;
  return {
    ...(approval === null ? repliedDirectly(id, state) : await replyUnderApproval(ports, { id, state, now })),
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

interface UnderApproval {
  readonly id: string;
  readonly state: OperationState;
  readonly now: Date;
}

async function replyUnderApproval(
  ports: Parameters<typeof skippedItems>[0],
  { id, state, now }: UnderApproval,
): Promise<Replied> {
  const ended = approvalStatusOf(state, now);
  if (state.approval !== null && ended !== null && isUnrun(ended)) {
    const { draft_id } = state.approval.requested;
    const results = await skippedItems(ports, state);
    return {
      results,
      summary: summarise([]),
      ...(draft_id === null ? {} : { draft_id }),
      approval: approvalOfReply(id, state.approval, ended),
    };
  }
  const { status, results, summary, draft_id, approval } = approvalReply(id, state, now);
  if (status === 'preview') throw new Error(`operation ${id} is no preview`);
  return {
    status,
    results,
    ...(summary && { summary }),
    ...(draft_id !== undefined && { draft_id }),
    ...(approval && { approval }),
  };
}

/**
 * Every action on every message as `skipped`, in the order of the manifest; none of a send, and none once the mailbox was
 * erased. Throws `store_unavailable`.
 */
export async function skippedItems(
  { personal }: { readonly personal: Pick<PersonalData, 'open'> },
  { approval }: Pick<OperationState, 'approval'>,
): Promise<OperationReply['results']> {
  if (approval?.requested.draft_id !== null) return [];
  const text = await personal.open(approval.requested.manifest);
  const manifest = text === null ? null : openManifest(text, approval.requested.content_hash);
  if (manifest?.kind !== 'message_actions') return [];
  return manifest.items.flatMap(({ message_id }) =>
    manifest.steps.map(({ action }) => ({ message_id, action, outcome: 'skipped' as const })),
  );
}
