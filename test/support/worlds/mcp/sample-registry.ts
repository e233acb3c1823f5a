/** A small registry with one tool of each shape that the MCP adapter treats differently. */
import { z } from 'zod';
import {
  type Capability,
  type CapabilityDefinition,
  defineCapability,
} from '../../../../commands/kernel/capability.ts';
import { ERROR_TABLE, type ErrorCode, GatewayError } from '../../../../commands/values/errors.ts';
import { toggleAdvancedTools } from '../../../../commands/accounts/toggle-advanced-tools.ts';

const mailboxId = z.string().min(1).max(64);
const hints = { readOnly: true, destructive: false, idempotent: true, openWorld: false };
const writing = { ...hints, readOnly: false };
const onMailbox = { mailbox: (input: { mailbox_id: string }) => input.mailbox_id };

/** Inputs as handlers received them, newest last, with the other facts of the request. */
export interface Seen {
  readonly tool: string;
  readonly input: unknown;
  readonly idempotencyKey: string | null;
  readonly ifPosition: bigint | null;
}

export interface SampleNote {
  readonly id: string;
  readonly text: string;
}

export interface Sample {
  readonly registry: readonly Capability[];
  readonly seen: Seen[];
  /** The items note_query pages over; tests fill it. */
  readonly notes: SampleNote[];
}

const note = (
  seen: Seen[],
  tool: string,
  input: unknown,
  context: { request: Omit<Seen, 'tool' | 'input'> },
): void => {
  const { idempotencyKey, ifPosition } = context.request;
  seen.push({ tool, input, idempotencyKey, ifPosition });
};

const whoAmI = (seen: Seen[]) =>
  defineCapability<Record<string, never>, { tools: string[] }>({
    name: 'get_identity',
    title: 'Who am I',
    summary: 'Who am I.',
    description: 'Start here.',
    effect: 'read',
    access: 'any-token',
    rest: null,
    tool: { surface: 'advertised', hints },
    idempotency: { kind: 'none' },
    input: z.strictObject({}),
    output: z.object({ tools: z.array(z.string()) }),
    handle: (input, context) => {
      note(seen, 'get_identity', input, context);
      return Promise.resolve({ tools: ['get_identity'] });
    },
  });

const NoteQuery = z.strictObject({
  mailbox_id: mailboxId,
  select: z.strictObject({
    mailbox_id: mailboxId.optional(),
    folder: z.string().optional(),
    limit: z.int().min(1).max(200).optional(),
    cursor: z.string().optional(),
    message_ids: z.array(z.string()).optional(),
  }),
  max_body_chars: z.int().min(1).optional(),
});
const NotePage = z.object({
  items: z.array(
    z.object({
      id: z.string(),
      body: z.object({ content: z.string(), truncated: z.boolean(), next_offset: z.int().nullable() }),
    }),
  ),
  page: z.object({ next_cursor: z.string().nullable(), limit: z.int() }),
});

const noteQuery = (seen: Seen[], notes: readonly SampleNote[]) =>
  defineCapability<z.output<typeof NoteQuery>, z.output<typeof NotePage>>({
    name: 'note_query',
    title: 'Query notes',
    summary: 'Find notes.',
    description: 'Find notes.',
    effect: 'read',
    access: { any: ['messages:read'], ...onMailbox },
    rest: null,
    tool: { surface: 'advertised', hints: { ...hints, openWorld: true } },
    idempotency: { kind: 'none' },
    input: NoteQuery,
    output: NotePage,
    handle: (input, context) => {
      note(seen, 'note_query', input, context);
      const { limit = 20, cursor = '0', message_ids: ids } = input.select;
      if (ids && input.select.limit !== undefined)
        throw new GatewayError('invalid_request', 'ids have no pages');
      const from = Number(cursor);
      const page = ids ? notes.filter(({ id }) => ids.includes(id)) : notes.slice(from, from + limit);
      const more = ids === undefined && from + limit < notes.length;
      const chars = input.max_body_chars ?? 1_000_000;
      return Promise.resolve({
        items: page.map(({ id, text }) => ({
          id,
          body: {
            content: text.slice(0, chars),
            truncated: text.length > chars,
            next_offset: text.length > chars ? chars : null,
          },
        })),
        page: { next_cursor: more ? String(from + limit) : null, limit },
      });
    },
  });

const NoteAct = z.strictObject({
  mailbox_id: mailboxId,
  operation: z.strictObject({
    type: z.literal('note_actions'),
    select: z.strictObject({ mailbox_id: mailboxId.optional(), message_ids: z.array(z.string()).min(1) }),
  }),
  mode: z.enum(['execute', 'preview']).optional(),
});
const Results = z.object({
  results: z.array(z.object({ message_id: z.string(), outcome: z.literal('done') })),
});

const noteAct = (seen: Seen[]) =>
  defineCapability<z.output<typeof NoteAct>, z.output<typeof Results>>({
    name: 'note_act',
    title: 'Act on notes',
    summary: 'Change notes.',
    description: 'Change notes.',
    effect: 'write',
    access: { any: ['messages:archive'], ...onMailbox },
    rest: null,
    tool: { surface: 'advertised', hints: { ...writing, destructive: true } },
    idempotency: { kind: 'operation', required: (input) => input.mode !== 'preview' },
    input: NoteAct,
    output: Results,
    handle: (input, context) => {
      note(seen, 'note_act', input, context);
      context.notePosition(BigInt(seen.length));
      return Promise.resolve({
        results: input.operation.select.message_ids.map((id) => ({
          message_id: id,
          outcome: 'done' as const,
        })),
      });
    },
  });

const NoteIds = z.strictObject({ mailbox_id: mailboxId, message_ids: z.array(z.string()).min(1) });

const noteCopy = (seen: Seen[]): CapabilityDefinition<z.output<typeof NoteIds>, z.output<typeof Results>> =>
  defineCapability({
    name: 'note_copy',
    title: 'Copy notes',
    summary: 'Copy notes.',
    description: 'Copy notes.',
    effect: 'write',
    access: { any: ['messages:copy'], ...onMailbox },
    rest: null,
    tool: { surface: 'granular', hints: writing },
    idempotency: { kind: 'operation', required: () => true },
    input: NoteIds,
    output: Results,
    handle: (input, context) => {
      note(seen, 'note_copy', input, context);
      return Promise.resolve({ results: [] });
    },
  });

const isErrorCode = (code: string): code is ErrorCode => code in ERROR_TABLE;

/** Fails with the given code; for any other text it throws an error that is no `GatewayError`. */
const noteFail = defineCapability<{ code: string }, { never: string }>({
  name: 'note_fail',
  title: 'Fail',
  summary: 'Fail.',
  description: 'Fail.',
  effect: 'read',
  access: 'any-token',
  rest: null,
  tool: { surface: 'granular', hints },
  idempotency: { kind: 'none' },
  input: z.strictObject({ code: z.string() }),
  output: z.object({ never: z.string() }),
  handle: ({ code }) => {
    if (isErrorCode(code)) throw new GatewayError(code, `failed with ${code}`);
    throw new Error('secret inner text');
  },
});

const restOnly = defineCapability<Record<string, never>, { ok: boolean }>({
  name: 'rest_only',
  title: 'REST only',
  summary: 'REST only.',
  description: 'REST only.',
  effect: 'read',
  access: 'any-token',
  rest: { method: 'get', path: '/rest_only' },
  tool: null,
  idempotency: { kind: 'none' },
  input: z.strictObject({}),
  output: z.object({ ok: z.boolean() }),
  handle: () => Promise.resolve({ ok: true }),
});

/** A granular tool comes first, so that the order of a list differs from the registry's. */
export function sampleRegistry(): Sample {
  const seen: Seen[] = [];
  const notes: SampleNote[] = [];
  const registry = [
    noteCopy(seen),
    whoAmI(seen),
    toggleAdvancedTools,
    noteQuery(seen, notes),
    noteAct(seen),
    noteFail,
    restOnly,
  ];
  return { registry, seen, notes };
}
