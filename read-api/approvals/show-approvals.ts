/** Approvals as the API returns them: single ones from their streams, lists from the read model. */
import { approvalRecord } from '../../commands/operations/approval-record.ts';
import { z } from 'zod';
import {
  operationsVisibleTo,
  type Sight,
  sightedApproval,
  sightOf,
} from '../../commands/approvals/operation-sight.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import {
  type Approval,
  approvalPayload,
  ListedApproval,
  listedApproval,
} from '../../commands/operations/approval-payload.ts';
import { approvalIdOf, operation, type OperationState } from '../../commands/operations/operation.ts';
import {
  type ApprovalFilter,
  type ApprovalPage,
  findSuccessor,
  listApprovals as listRows,
  type ListedApproval as Row,
} from '../../projections/approval-queries.ts';
import { loadAsOf, momentAsOf } from '../paging/as-of.ts';
import { collectionOf, decodeCursor, encodeCursor, pageLimit, shownPage } from '../paging/page.ts';
import { type ApprovalPreview, approvalPreview } from './preview/approval-preview.ts';
import { recordPreview, recordSeen, requestedApproval } from './approval-access.ts';

export const ApprovalCollection = collectionOf(ListedApproval);
export type ApprovalCollection = z.output<typeof ApprovalCollection>;

/** The approval now or at an earlier moment. Throws `not_found`, also for a moment before it. */
export async function showApproval(context: Context, approvalId: string, asOf?: string): Promise<Approval> {
  const { ports } = context;
  const moment = momentAsOf(ports.clock, asOf);
  const { operationId, state, sight } = await requestedApproval(context, approvalId);
  const then = moment === null ? state : await loadAsOf(ports.events, operation, operationId, moment);
  if (then?.approval == null) throw notFound('approval');
  if (sight === 'approver') await recordSeen(context, [{ id: operationId, state }]);
  const now = moment ?? ports.clock.now();
  return await payloadOf(context, { operationId, state: then, now, asOf: moment });
}

interface Shown {
  readonly operationId: string;
  readonly state: OperationState;
  readonly now: Date;
  /** Null = now. */
  readonly asOf: Date | null;
}

/** Names the approval that superseded it, if there is one. */
async function payloadOf(
  { caller, ports }: Context,
  { operationId, state, now, asOf }: Shown,
): Promise<Approval> {
  const supersededBy = await findSuccessor(ports.sql, approvalIdOf(operationId), asOf);
  const record = approvalRecord(operationId, state);
  return await approvalPayload(ports, { record, supersededBy, now, viewerId: caller.principal.id });
}

/** The preview may contain text of a message, so it is recorded as a read of that message. */
export async function showPreview(context: Context, approvalId: string): Promise<ApprovalPreview> {
  const { operationId, state } = await requestedApproval(context, approvalId);
  await recordPreview(context, [{ id: operationId, state }]);
  return await approvalPreview(context, state, approvalId);
}

export interface ApprovalListing extends ApprovalFilter {
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
}

type RowKey = NonNullable<ApprovalPage['before']>;

const keyOf = ({ createdAt, id }: Row): RowKey => ({ createdAt: createdAt.toISOString(), id });

const Keyset = z.tuple([z.iso.datetime(), z.string().max(64)]);

/** One page, newest first. Throws `cursor_invalid`, `invalid_request`, `store_unavailable`. */
export async function showApprovals(
  context: Context,
  { limit: asked, cursor, ...filter }: ApprovalListing,
): Promise<ApprovalCollection> {
  const { caller, ports } = context;
  const limit = pageLimit(context, asked);
  const binding = { route: 'approvals', query: filter };
  const keyset = cursor === undefined ? null : decodeCursor(context, binding, cursor, Keyset);
  const before = keyset && { createdAt: keyset[0], id: keyset[1] };
  const now = ports.clock.now();
  const visible = operationsVisibleTo(caller, ports.directory.state);
  const sights = new Map<string, Sight | null>();
  const { rows: shown, next } = await shownPage<Row, RowKey>(
    (from, most) => listRows(ports.sql, visible, filter, { before: from, limit: most, now }),
    {
      before,
      limit,
      keyOf,
      isShown: async ({ id, record }) => {
        sights.set(id, await sightOf(context, sightedApproval(record)));
        return sights.get(id) !== null;
      },
    },
  );
  const seen = shown.filter(({ id }) => sights.get(id) === 'approver');
  await recordSeen(
    context,
    seen.map(({ record }) => ({ id: record.operationId, state: record })),
  );
  return {
    items: await Promise.all(
      shown.map(({ record, supersededBy }) =>
        listedApproval(ports, { record, supersededBy, now, viewerId: caller.principal.id }),
      ),
    ),
    page: {
      next_cursor: next && encodeCursor(context, binding, [next.createdAt, next.id]),
      limit,
      as_of: now.toISOString(),
    },
  };
}
