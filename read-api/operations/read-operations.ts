/** GET /operations and /operations/:operation_id: the progress and results of changes to mail. */
import { z } from 'zod';
import {
  operationsReadableBy,
  operationsVisibleTo,
  SCOPES_TO_SEE_OPERATIONS,
  sightOf,
} from '../../commands/approvals/operation-sight.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { operation } from '../../commands/operations/operation.ts';
import {
  listOperations as listRows,
  type OperationPage,
  type OperationRow,
} from '../../projections/operation-queries.ts';
import {
  collectionOf,
  decodeCursor,
  encodeCursor,
  mailboxFilter,
  pageFields,
  pageLimit,
  shownPage,
} from '../paging/page.ts';
import { listed, Operation, OperationListed, OperationStateField } from './operation-view.ts';
import { findOperation, showOperation } from './show-operation.ts';

const Operations = collectionOf(OperationListed);
const ListInput = z.strictObject({
  state: OperationStateField.optional(),
  status: OperationStateField.optional().describe('The same as state, its name of before.'),
  mailbox_id: z.string().min(1).max(64).optional(),
  ...pageFields,
});
type ListInput = z.output<typeof ListInput>;
const GetInput = z.strictObject({ operation_id: z.string().min(1).max(64) });

const Keyset = z.tuple([z.iso.datetime(), z.string().max(64)]);

export const listOperations = defineCapability<ListInput, z.output<typeof Operations>>({
  name: 'list_operations',
  title: 'List operations',
  summary:
    'Changes of mail and sends, newest first: yours, your agents’, those on mailboxes you may read or whose approvals you may decide.',
  description:
    'Operations on messages and sends of drafts, newest first. state is waiting (for a decision or a commit), running, ' +
    'completed, failed, unknown or not_run (its approval ended first). Unknown outcomes are reconciled automatically; the action is never repeated.',
  effect: 'read',
  access: { any: SCOPES_TO_SEE_OPERATIONS },
  rest: { method: 'get', path: '/operations' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Operations,
  handle: async (input, context) => {
    const { caller, ports } = context;
    const limit = pageLimit(context, input.limit);
    const filter = {
      state: input.state ?? input.status ?? null,
      mailboxId: mailboxFilter(context, input.mailbox_id),
    };
    const binding = { route: 'operations', query: filter };
    const keyset = input.cursor === undefined ? null : decodeCursor(context, binding, input.cursor, Keyset);
    const before = keyset && { createdAt: keyset[0], id: keyset[1] };
    const asOf = ports.clock.now().toISOString();
    const visible = operationsReadableBy(caller, operationsVisibleTo(caller, ports.directory.state));
    const { rows, next } = await shownPage<OperationRow, RowKey>(
      (from, most) => listRows(ports.sql, visible, filter, { before: from, limit: most }),
      { before, limit, keyOf, isShown: (row) => isShown(context, row) },
    );
    const nextCursor = next && encodeCursor(context, binding, [next.createdAt, next.id]);
    return { items: rows.map(listed), page: { next_cursor: nextCursor, limit, as_of: asOf } };
  },
});

type RowKey = NonNullable<OperationPage['before']>;

const keyOf = ({ createdAt, id }: OperationRow): RowKey => ({ createdAt: createdAt.toISOString(), id });

/** Only a grant bound to folder roles may show less than the query; the stream names the folder. */
async function isShown({ caller, ports }: Context, { id, mailboxId }: OperationRow): Promise<boolean> {
  if ((caller.mailboxes.get(mailboxId)?.folderRoles ?? null) === null) return true;
  const { state } = await loadAggregate(ports.events, operation, id);
  return (await sightOf({ caller, ports }, state)) !== null;
}

export const getOperation = defineCapability<z.output<typeof GetInput>, Operation>({
  name: 'get_operation',
  title: 'Get an operation',
  summary: 'One operation: its state, each result, and its lines of the audit trail.',
  description:
    'One operation in its current state. For a send, draft_id names its draft and error says why it failed.',
  effect: 'read',
  access: { any: SCOPES_TO_SEE_OPERATIONS },
  rest: { method: 'get', path: '/operations/:operation_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: Operation,
  handle: async ({ operation_id: id }, context) => showOperation(context, await findOperation(context, id)),
});
