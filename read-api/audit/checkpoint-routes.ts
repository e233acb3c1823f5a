/** GET /audit/checkpoints and one of them; POST signs the lines so far. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import { collectionOf, decodeCursor, encodeCursor, pageFields, pageLimit } from '../paging/page.ts';
import {
  type Checkpoint,
  checkpointAt,
  checkpointOf,
  checkpointsBefore,
  linesToSeal,
} from './checkpoints.ts';
import { countSealing } from './counted-seals.ts';

export const CheckpointItem = z.object({
  trail: z.string().describe('The id of the organisation.'),
  epoch: z.int(),
  size: z.int().describe('How many lines it covers.'),
  root: z.string().describe('The root of the tree over them, base64.'),
  origin: z.string().describe('The first line of the note, and the name of its key.'),
  key_id: z.string(),
  sealed_at: z.string(),
  note: z.string().describe('The signed note (docs/audit-format.md 5).'),
  anchors: z
    .array(
      z.object({
        kind: z.string(),
        name: z.string(),
        state: z.enum(['confirmed', 'failed']),
        at: z.string(),
        error: z.object({ code: z.string() }).optional(),
      }),
    )
    .describe('Where it was stored outside of the gateway.'),
});
export type CheckpointItem = z.output<typeof CheckpointItem>;

export const describeCheckpoint = (checkpoint: Checkpoint): CheckpointItem => ({
  trail: checkpoint.trail,
  epoch: checkpoint.epoch,
  size: checkpoint.size,
  root: checkpoint.root,
  origin: checkpoint.origin,
  key_id: checkpoint.keyId,
  sealed_at: checkpoint.sealedAt.toISOString(),
  note: checkpoint.note,
  anchors: describeAnchors(checkpoint),
});

export const describeAnchors = ({ anchors }: Checkpoint): CheckpointItem['anchors'] =>
  anchors.map(({ kind, name, state, at, error }) => ({
    kind,
    name,
    state,
    at: at.toISOString(),
    ...(error === null ? {} : { error: { code: error } }),
  }));

const Nothing = z.strictObject({});
const ListInput = z.strictObject(pageFields);
const Checkpoints = collectionOf(CheckpointItem);
const Keyset = z.tuple([z.int(), z.int()]);

export const listCheckpoints = defineCapability<z.output<typeof ListInput>, z.output<typeof Checkpoints>>({
  name: 'list_checkpoints',
  title: 'List checkpoints',
  summary: 'The signed checkpoints of the audit trail, newest first.',
  description:
    'A checkpoint is a signed note over the number of lines and the root of the tree. Keep one outside: it shows any later change.',
  effect: 'read',
  access: { any: ['audit:read'] },
  rest: { method: 'get', path: '/audit/checkpoints' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Checkpoints,
  handle: async (input, context) => {
    const { ports, caller } = context;
    const limit = pageLimit(context, input.limit);
    const binding = { route: 'audit/checkpoints', query: {} };
    const before = input.cursor === undefined ? null : decodeCursor(context, binding, input.cursor, Keyset);
    const asOf = ports.clock.now().toISOString();
    const found = await checkpointsBefore(ports.sql, caller.org.id, before, limit + 1);
    const shown = found.slice(0, limit);
    const last = found.length > limit ? shown.at(-1) : undefined;
    return {
      items: shown.map(describeCheckpoint),
      page: {
        next_cursor: last ? encodeCursor(context, binding, [last.epoch, last.size]) : null,
        limit,
        as_of: asOf,
      },
    };
  },
});

const GetInput = z.strictObject({
  size: z
    .string()
    .regex(/^(latest|0|[1-9][0-9]{0,14})$/)
    .describe('The number of lines, or latest.'),
});

export const getCheckpoint = defineCapability<z.output<typeof GetInput>, CheckpointItem>({
  name: 'get_checkpoint',
  title: 'Get a checkpoint',
  summary: 'One signed checkpoint, or the latest.',
  description:
    'A checkpoint says how many lines the trail had and the root of the Merkle tree over them, signed. With Accept: text/plain the answer is the ' +
    'signed note itself.',
  effect: 'read',
  access: { any: ['audit:read'] },
  rest: { method: 'get', path: '/audit/checkpoints/:size', asText: ({ note }) => note },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: CheckpointItem,
  handle: async ({ size }, { ports, caller }) => {
    const found =
      size === 'latest'
        ? await checkpointAt(ports.sql, caller.org.id, 'latest')
        : await checkpointOf(ports.sql, caller.org.id, Number(size));
    if (found === null) throw notFound('checkpoint');
    return describeCheckpoint(found);
  },
});

const AnchorState = z.object({
  kind: z.string(),
  configured: z.boolean(),
  size: z.int().nullable().describe('The largest checkpoint that is stored there.'),
  at: z.string().nullable().describe('When it was.'),
  error: z.object({ code: z.string(), at: z.string() }).optional().describe('Where the last attempt failed.'),
});
const AnchorStates = z.object({ items: z.array(AnchorState) });

interface AnchorRow extends Record<string, unknown> {
  readonly size: string | null;
  readonly at: Date | null;
  readonly error: string | null;
  readonly tried_at: Date | null;
}

/** The kinds there are. */
const KINDS = ['file'] as const;

export const listAnchors = defineCapability<z.output<typeof Nothing>, z.output<typeof AnchorStates>>({
  name: 'list_audit_anchors',
  title: 'List where checkpoints are stored outside',
  summary: 'What is set up, and which checkpoint is there.',
  description:
    'The operator sets up a folder (AUDIT_ANCHOR_DIR). Webhooks of audit.checkpoint_sealed are in the list of endpoints.',
  effect: 'read',
  access: { any: ['audit:read'] },
  rest: { method: 'get', path: '/audit/anchors' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Nothing,
  output: AnchorStates,
  handle: async (_, { ports: { sql, seals }, caller }) => ({
    items: await Promise.all(
      KINDS.map(async (kind) => {
        const [row] = await sql.query<AnchorRow>(
          `select stored.size, stored.anchored_at as at, last.error, last.anchored_at as tried_at
             from (select 1) one
             left join lateral (select * from vault.audit_anchor where trail = $1 and kind = $2 and error is null
                                 order by anchored_at desc limit 1) stored on true
             left join lateral (select * from vault.audit_anchor where trail = $1 and kind = $2
                                 order by anchored_at desc limit 1) last on true`,
          [caller.org.id, kind],
        );
        return { kind, configured: seals.anchorKinds.includes(kind), ...stateOf(row) };
      }),
    ),
  }),
});

function stateOf(row: AnchorRow | undefined): Pick<z.output<typeof AnchorState>, 'size' | 'at' | 'error'> {
  const { size = null, at = null, error = null, tried_at: triedAt = null } = row ?? {};
  return {
    size: size === null ? null : Number(size),
    at: at?.toISOString() ?? null,
    ...(error !== null && triedAt !== null ? { error: { code: error, at: triedAt.toISOString() } } : {}),
  };
}

export const sealCheckpoint = defineCapability<z.output<typeof Nothing>, CheckpointItem>({
  name: 'seal_checkpoint',
  title: 'Seal the audit trail now',
  summary: 'Signs the lines so far, without waiting for the next checkpoint.',
  description:
    'Answers when a checkpoint covers every line there was, except those that sealing itself wrote. A 200 means that there was ' +
    'one already. At most ten a minute for an organisation, with those that exports and evidence need.',
  effect: 'write',
  access: { any: ['audit:export'] },
  rest: {
    method: 'post',
    path: '/audit/checkpoints',
    status: 201,
    orUnchanged: true,
    location: ({ size }) => `/audit/checkpoints/${String(size)}`,
  },
  tool: null,
  errors: ['rate_limited', 'seal_behind'],
  idempotency: { kind: 'none' },
  input: Nothing,
  output: CheckpointItem,
  handle: async (_, context) => {
    const { ports, caller } = context;
    await countSealing(ports, caller.org.id);
    // The read model may not have what this caller did last.
    await ports.readModels.waitFor(await ports.events.headPosition(), 1_000);
    const wanted = await linesToSeal(ports.sql, caller.org.id);
    const before = await checkpointAt(ports.sql, caller.org.id, 'latest');
    await ports.seals.sealNow(caller.org.id, wanted);
    const after = await checkpointAt(ports.sql, caller.org.id, 'latest');
    if (after === null) throw notFound('checkpoint');
    if (after.note === before?.note) context.markUnchanged();
    return describeCheckpoint(after);
  },
});
