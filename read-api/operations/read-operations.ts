/** GET /operations and /operations/:operation_id: where changes of mail stand, and what became of them. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { listOperations as listRows } from '../../projections/operation-queries.ts';
import { collectionOf, decodeCursor, encodeCursor, pageFields, pageLimit } from '../page.ts';
import { listed, Operation, OperationListed, OperationStateField } from './operation-view.ts';
import { findOperation, showOperation } from './show-operation.ts';
import { operationsVisibleTo } from './visible-operations.ts';

const Operations = collectionOf(OperationListed);
const ListInput = z.strictObject({
  status: OperationStateField.optional(),
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
    'Changes of mail and sends, newest first: yours, your agents’, those on mailboxes you may read or whose checks you may decide.',
  description:
    'Operations on messages and sends of drafts, newest first. status is waiting (for a decision or a commit), running, ' +
    'completed, failed, unknown or not_run (its check ended first); what is unknown is looked up by itself and never repeated.',
  effect: 'read',
  access: 'any-token',
  rest: { method: 'get', path: '/operations' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Operations,
  handle: async (input, context) => {
    const { caller, ports } = context;
    const limit = pageLimit(context, input.limit);
    const filter = { state: input.status ?? null, mailboxId: input.mailbox_id ?? null };
    const binding = { route: 'operations', query: filter };
    const keyset = input.cursor === undefined ? null : decodeCursor(context, binding, input.cursor, Keyset);
    const before = keyset && { createdAt: keyset[0], id: keyset[1] };
    const asOf = ports.clock.now().toISOString();
    const visible = operationsVisibleTo(caller, ports.directory.state);
    const found = await listRows(ports.sql, visible, filter, { before, limit: limit + 1 });
    const shown = found.slice(0, limit);
    const last = found.length > limit ? shown.at(-1) : undefined;
    const next = last ? encodeCursor(context, binding, [last.createdAt.toISOString(), last.id]) : null;
    return { items: shown.map(listed), page: { next_cursor: next, limit, as_of: asOf } };
  },
});

export const getOperation = defineCapability<z.output<typeof GetInput>, Operation>({
  name: 'get_operation',
  title: 'Get an operation',
  summary: 'One operation: each result, where it stands, and its lines of the audit trail.',
  description:
    'One operation as it stands now. A send names its draft, error tells why it failed; approval is its check.',
  effect: 'read',
  access: 'any-token',
  rest: { method: 'get', path: '/operations/:operation_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: Operation,
  handle: async ({ operation_id: id }, context) => showOperation(context, await findOperation(context, id)),
});
