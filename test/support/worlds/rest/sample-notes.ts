/** A small registry with one capability of each shape that the REST adapter treats differently. */
import { EventEmitter, once } from 'node:events';
import { z } from 'zod';
import {
  type Capability,
  type CapabilityDefinition,
  type Request,
  defineCapability,
} from '../../../../commands/kernel/capability.ts';
import { type AnyPublicRoute, definePublicRoute } from '../../../../commands/kernel/public-route.ts';
import { GatewayError, notFound } from '../../../../commands/values/errors.ts';

const noteId = z.string().min(1).max(64);
const Echo = z.object({ id: z.string(), input: z.unknown() });
type Echo = z.output<typeof Echo>;

export interface SampleNotes {
  readonly registry: readonly Capability[];
  /** Returns its input and the source of the request. */
  readonly publicRoutes: readonly AnyPublicRoute[];
  /** The requests that handlers received, newest last. */
  readonly requests: Request[];
  /** `slow_note` answers only after the returned function was called. */
  holdSlow(): () => void;
  /** Resolves when this many calls of `slow_note` are running. */
  slowAtWork(count: number): Promise<void>;
}

/** A handler's work that tests hold. */
class Gate {
  #open: Promise<unknown> = Promise.resolve();
  readonly #arrivals = new EventEmitter();
  #atWork = 0;

  async pass(): Promise<void> {
    this.#atWork += 1;
    this.#arrivals.emit('arrival');
    await this.#open;
    this.#atWork -= 1;
  }

  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#open = promise;
    return () => {
      resolve(undefined);
    };
  }

  async atWork(count: number): Promise<void> {
    while (this.#atWork < count) await once(this.#arrivals, 'arrival');
  }
}

/** Common to the samples: any token may call, the input is returned. */
const sample = <Input extends object>(
  requests: Request[],
  change: Pick<CapabilityDefinition<Input, Echo>, 'name' | 'rest' | 'input'> &
    Partial<CapabilityDefinition<Input, Echo>>,
) =>
  defineCapability<Input, Echo>({
    title: 'Note',
    summary: 'A note.',
    description: 'A note.',
    effect: 'write',
    access: 'any-token',
    tool: null,
    idempotency: { kind: 'none' },
    output: Echo,
    handle: async (input, { request }) => {
      requests.push(request);
      return { id: 'not_1', input };
    },
    ...change,
  });

const open = definePublicRoute<{ text?: string | undefined }, { source: string }>({
  name: 'open_note',
  title: 'Open note',
  summary: 'An open note.',
  description: 'An open note.',
  rest: { method: 'post', path: '/open', status: 200 },
  input: z.strictObject({ text: z.string().optional() }),
  output: z.object({ source: z.string() }),
  handle: async (_, { source }) => ({ source }),
});

const reading = { effect: 'read' } as const;

export function sampleNotes(): SampleNotes {
  const requests: Request[] = [];
  const keys = new Set<string>();
  const get = sample(requests, {
    ...reading,
    name: 'get_note',
    rest: { method: 'get', path: '/notes/:note_id' },
    input: z.strictObject({
      note_id: noteId,
      limit: z.int().min(1).max(200).optional(),
      unread: z.boolean().optional(),
      kinds: z.array(z.string().min(1)).optional(),
      text: z.string().optional(),
    }),
    etag: () => '7',
  });
  const create = sample(requests, {
    name: 'create_note',
    rest: { method: 'post', path: '/notes', status: 201, location: ({ id }) => `/notes/${id}` },
    input: z.strictObject({ text: z.unknown().optional() }),
    idempotency: { kind: 'operation', required: () => false },
    handle: async (input, context) => {
      const { idempotencyKey } = context.request;
      context.notePosition(4_711n);
      if (idempotencyKey !== null && keys.has(idempotencyKey)) context.markReplayed();
      if (idempotencyKey !== null) keys.add(idempotencyKey);
      return { id: 'not_1', input };
    },
  });
  const patch = sample(requests, {
    name: 'patch_note',
    rest: { method: 'patch', path: '/notes/:note_id' },
    ifMatch: true,
    input: z.strictObject({ note_id: noteId, text: z.string().optional() }),
  });
  const remove = sample(requests, {
    name: 'delete_note',
    rest: { method: 'delete', path: '/notes/:note_id', status: 204 },
    input: z.strictObject({ note_id: noteId, force: z.boolean().optional() }),
  });
  const removeAll = sample(requests, {
    name: 'delete_notes',
    rest: { method: 'delete', path: '/notes', status: 202, deleteBody: true },
    input: z.strictObject({ text: z.string() }),
  });
  const label = sample(requests, {
    name: 'put_labels',
    rest: { method: 'put', path: '/notes/:note_id/labels', bodyField: 'labels' },
    input: z.strictObject({ note_id: noteId, labels: z.record(z.string().max(20), z.unknown()) }),
  });
  const closed = sample(requests, {
    ...reading,
    name: 'closed_note',
    rest: { method: 'get', path: '/closed' },
    input: z.strictObject({}),
    access: { any: ['policy:manage'] },
  });
  const failing = sample(requests, {
    name: 'fail_note',
    rest: { method: 'post', path: '/fail' },
    input: z.strictObject({ how: z.enum(['defect', 'busy', 'gone']) }),
    handle: async ({ how }) => {
      if (how === 'busy') throw new GatewayError('mailbox_unavailable', 'The mail server is away.');
      if (how === 'gone') throw notFound('note');
      throw new Error('the password is swordfish');
    },
  });
  const gate = new Gate();
  const slow = sample(requests, {
    ...reading,
    name: 'slow_note',
    rest: { method: 'get', path: '/slow' },
    input: z.strictObject({}),
    handle: async (input) => {
      await gate.pass();
      return { id: 'slow', input };
    },
  });
  return {
    publicRoutes: [open],
    registry: [get, create, patch, remove, removeAll, label, closed, failing, slow],
    requests,
    holdSlow: () => gate.hold(),
    slowAtWork: (count) => gate.atWork(count),
  };
}
