/** `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel` (MCP 2025-11-25), bound to the caller. */
import { JSONRPCErrorException } from 'json-rpc-2.0';
import type { Caller } from '../commands/kernel/access.ts';
import { authorize } from '../commands/kernel/authorize.ts';
import { GatewayError } from '../commands/values/errors.ts';
import type { McpTask, TaskOwner, TaskPlace } from '../commands/ports/mcp.ts';
import type { Toolbox } from './call-tool.ts';
import { INTERNAL_ERROR, INVALID_PARAMS } from './json-rpc-answers.ts';
import type { TaskOutcome, TaskRuns } from './run-tasks.ts';
import { RELATED_TASK, taskPayload } from './task-payload.ts';

type Params = Readonly<Record<string, unknown>>;

/** Interval at which a task of another process is read while a client waits for its result. */
const LOOK_EVERY_MS = 1_000;
const TASKS_PER_PAGE = 50;

const CANCELLED = 'Cancelled on request; an effect that had begun is not undone.';

export interface TaskRequest {
  readonly params: Params;
  readonly caller: Caller;
  /** Aborts when the client disconnects. */
  readonly gone: AbortSignal;
}

/** Each returns its result as JSON text. Throws a JSON-RPC error for a task that is not the caller's. */
export class TaskMethods {
  readonly #toolbox: Toolbox;
  readonly #runs: TaskRuns;

  constructor(toolbox: Toolbox, runs: TaskRuns) {
    this.#toolbox = toolbox;
    this.#runs = runs;
  }

  async get({ params, caller }: TaskRequest): Promise<string> {
    return JSON.stringify(taskPayload(await this.#find(params, caller)));
  }

  async cancel({ params, caller }: TaskRequest): Promise<string> {
    const task = await this.#find(params, caller);
    const end = { status: 'cancelled', statusMessage: CANCELLED, outcome: null } as const;
    const ended = await this.#toolbox.ports.tasks.end(ownerOf(caller), task.id, end);
    if (ended === null) throw invalid(`The task has ended already: ${task.id}`);
    this.#runs.cancel(task.id);
    return JSON.stringify(taskPayload(ended));
  }

  async list({ params, caller }: TaskRequest): Promise<string> {
    const after = readCursor(params['cursor']);
    const found = await this.#toolbox.ports.tasks.list(ownerOf(caller), after, TASKS_PER_PAGE + 1);
    const page = found.slice(0, TASKS_PER_PAGE);
    const last = page.at(-1);
    const next = found.length > page.length && last ? { nextCursor: writeCursor(last) } : {};
    return JSON.stringify({ tasks: page.map(taskPayload), ...next });
  }

  /** What the plain call would have answered, as soon as the task has ended. */
  async result({ params, caller, gone }: TaskRequest): Promise<string> {
    const task = await this.#untilOver(params, caller, gone);
    const contents = await this.#toolbox.ports.tasks.contents(ownerOf(caller), task.id);
    if (contents === null) throw unknownTask();
    const { personal } = this.#toolbox.ports;
    this.#authorize(task, caller, await personal.open(contents.input));
    if (task.status === 'cancelled') throw invalid('The task was cancelled: it has no result.');
    const outcome = contents.outcome === null ? null : await personal.open(contents.outcome);
    if (outcome === null) {
      throw new JSONRPCErrorException(task.statusMessage ?? 'The outcome is lost.', INTERNAL_ERROR);
    }
    return withRelatedTask(JSON.parse(outcome) as TaskOutcome, task.id);
  }

  async #untilOver(params: Params, caller: Caller, gone: AbortSignal): Promise<McpTask> {
    for (;;) {
      const task = await this.#find(params, caller);
      if (task.status !== 'working') return task;
      if (gone.aborted || this.#toolbox.ports.feed.isEnding) {
        throw new GatewayError('overloaded', 'The gateway is about to end; ask another replica.');
      }
      await this.#runs.over(task.id, LOOK_EVERY_MS, gone);
    }
  }

  async #find(params: Params, caller: Caller): Promise<McpTask> {
    const { taskId } = params;
    if (typeof taskId !== 'string') throw invalid('taskId: expected the id of a task');
    const task = await this.#toolbox.ports.tasks.find(ownerOf(caller), taskId);
    if (task === null) throw unknownTask();
    return task;
  }

  /** This token may differ from the one that started the task: it must itself be allowed the call. */
  #authorize(task: McpTask, caller: Caller, input: string | null): void {
    const capability = this.#toolbox.catalogue.named(task.tool)?.capability;
    if (!capability || input === null) throw unknownTask();
    try {
      authorize(caller, this.#toolbox.ports.directory.state, capability, JSON.parse(input));
    } catch (error) {
      throw error instanceof GatewayError && error.code === 'not_found' ? unknownTask() : error;
    }
  }
}

export const ownerOf = ({ org, principal }: Caller): TaskOwner => ({
  orgId: org.id,
  principalId: principal.id,
});

const invalid = (message: string): JSONRPCErrorException =>
  new JSONRPCErrorException(message, INVALID_PARAMS);

const unknownTask = (): JSONRPCErrorException => invalid('There is no such task, or its ttl is over.');

function withRelatedTask(outcome: TaskOutcome, taskId: string): string {
  if (outcome.kind === 'error') {
    throw new JSONRPCErrorException(outcome.message, outcome.code, outcome.data);
  }
  const result = JSON.parse(outcome.text) as { readonly _meta?: Params };
  return JSON.stringify({ ...result, _meta: { ...result._meta, [RELATED_TASK]: { taskId } } });
}

const writeCursor = ({ createdAt, id }: McpTask): string =>
  Buffer.from(JSON.stringify([createdAt.getTime(), id])).toString('base64url');

function readCursor(cursor: unknown): TaskPlace | null {
  if (cursor === undefined) return null;
  const [time, id] = typeof cursor === 'string' ? parsePair(cursor) : [];
  if (typeof time !== 'number' || typeof id !== 'string' || Number.isNaN(new Date(time).getTime())) {
    throw invalid('Unknown cursor: take nextCursor of the page before.');
  }
  return { createdAt: new Date(time), id };
}

function parsePair(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
