/** GET /audit and /audit/:event_id: what happened in the organisation, who did it and how it ended. */
import { z } from 'zod';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { namesOf } from '../../commands/operations/approval-payload.ts';
import { notFound } from '../../commands/values/errors.ts';
import { InstantField } from '../../commands/values/input-fields.ts';
import {
  type AuditEntry,
  type AuditFilter,
  getAudit,
  listAudit,
  ofResource,
} from '../../projections/audit-queries.ts';
import { collectionOf, decodeCursor, encodeCursor, pageFields, pageLimit } from '../paging/page.ts';
import { AuditLine, AuditOutcomeField, showLine } from './audit-line.ts';
import { CheckpointItem, describeCheckpoint } from './checkpoint-routes.ts';
import { type Checkpoint, checkpointAt } from './checkpoints.ts';
import { sightOfTexts, type TextSight } from './line-texts.ts';

export const NamedLine = AuditLine.extend({
  names: z
    .record(z.string(), z.string())
    .describe('Of the people and agents named here by id, as they are called now.'),
});
type NamedLine = z.output<typeof NamedLine>;
const AuditLines = collectionOf(NamedLine).extend({
  sealed_through: z.int().describe('Lines up to this seq are covered by a signed checkpoint.'),
});
const SealedLine = NamedLine.extend({
  seal: CheckpointItem.pick({ size: true, root: true, sealed_at: true, anchors: true })
    .nullable()
    .describe('The first checkpoint that covers the line; null until it is sealed.'),
});
const name = z.string().min(1).max(100).optional();
const ListInput = z.strictObject({
  from: InstantField.optional().describe('Included.'),
  to: InstantField.optional().describe('Not included.'),
  actor: name.describe('The id of who acted.'),
  type: name.describe('An event type.'),
  resource: name.describe('The id of what it was done to, or of an approval: every line of it.'),
  mailbox_id: name,
  outcome: AuditOutcomeField.optional(),
  request_id: name,
  order: z.enum(['asc', 'desc']).optional().describe('desc = newest first, the default.'),
  ...pageFields,
});
type ListInput = z.output<typeof ListInput>;
const GetInput = z.strictObject({ event_id: z.string().min(1).max(64) });

export const listAuditEvents = defineCapability<ListInput, z.output<typeof AuditLines>>({
  name: 'list_audit_events',
  title: 'Read the audit trail',
  summary: 'What happened in the organisation, newest first.',
  description:
    'Every action, denial, failure and read of message bodies, with actor, token, request id, outcome and resource. The lines of ' +
    'an approval name it. Filters must all fit.',
  effect: 'read',
  access: { any: ['audit:read'] },
  rest: { method: 'get', path: '/audit' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: AuditLines,
  handle: async (input, context) => {
    const { ports, caller } = context;
    const limit = pageLimit(context, input.limit);
    const order = input.order ?? 'desc';
    const filter = filterOf(input);
    const binding = { route: 'audit/3', query: { ...filter, order } };
    const after = input.cursor === undefined ? null : decodeCursor(context, binding, input.cursor, z.int());
    const asOf = ports.clock.now().toISOString();
    const sealed = await checkpointAt(ports.sql, caller.org.id, 'latest');
    const found = await listAudit(ports.sql, caller.org.id, filter, { order, after, limit: limit + 1 });
    const shown = found.slice(0, limit);
    const sight = sightOfTexts(context);
    const last = found.length > limit ? shown.at(-1) : undefined;
    return {
      sealed_through: sealed?.size ?? 0,
      items: await Promise.all(shown.map((entry) => namedLine(context, sight, entry))),
      page: { next_cursor: last ? encodeCursor(context, binding, last.seq) : null, limit, as_of: asOf },
    };
  },
});

/** Times in UTC, so that the same moment makes the same cursor. */
const filterOf = (input: ListInput): AuditFilter => ({
  from: utc(input.from),
  to: utc(input.to),
  actor: input.actor,
  type: input.type,
  ...ofResource(input.resource),
  mailboxId: input.mailbox_id,
  outcome: input.outcome,
  requestId: input.request_id,
});

const utc = (instant: string | undefined): string | undefined =>
  instant === undefined ? undefined : new Date(instant).toISOString();

async function namedLine(
  { caller, ports }: Pick<Context, 'caller' | 'ports'>,
  sight: TextSight,
  entry: AuditEntry,
): Promise<NamedLine> {
  const ids = [entry.actor.id, entry.resource?.id].map((id) => id ?? undefined);
  return {
    ...(await showLine(caller, sight, entry)),
    names: namesOf(ports.directory.state, ids),
  };
}

function sealOf(checkpoint: Checkpoint): z.output<typeof SealedLine>['seal'] {
  const { size, root, sealed_at, anchors } = describeCheckpoint(checkpoint);
  return { size, root, sealed_at, anchors };
}

export const getAuditEvent = defineCapability<z.output<typeof GetInput>, z.output<typeof SealedLine>>({
  name: 'get_audit_event',
  title: 'Get an audit line',
  summary: 'One line of the audit trail.',
  description: 'One line of the audit trail, with its data.',
  effect: 'read',
  access: { any: ['audit:read'] },
  rest: { method: 'get', path: '/audit/:event_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: SealedLine,
  handle: async ({ event_id }, context) => {
    const { ports, caller } = context;
    const entry = await getAudit(ports.sql, caller.org.id, event_id);
    if (!entry) throw notFound('audit event');
    const seal = await checkpointAt(ports.sql, caller.org.id, entry.seq);
    const line = await namedLine(context, sightOfTexts(context), entry);
    return { ...line, seal: seal && sealOf(seal) };
  },
});
