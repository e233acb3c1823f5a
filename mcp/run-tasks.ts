/** Runs tool calls as tasks in this process; their outcomes are in the table that all replicas read. */
import { JSONRPCErrorException } from 'json-rpc-2.0';
import type { McpTask, TaskEnd, TaskOwner } from '../commands/ports/mcp.ts';
import type { Ports } from '../commands/ports/ports.ts';
import type { ToolAnswer } from './call-tool.ts';
import { errorResult } from './tool-result.ts';

/** The outcome of a call: the JSON text of its result, or the JSON-RPC error. */
export type TaskOutcome =
  | { readonly kind: 'result'; readonly text: string }
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data: unknown };

export interface TaskRun {
  readonly owner: TaskOwner;
  readonly tool: string;
  readonly input: unknown;
  readonly ttlMs: number;
  readonly requestId: string;
  /** The call; its signal aborts when the answer is no longer needed. */
  readonly call: (gone: AbortSignal) => Promise<ToolAnswer>;
}

interface Running {
  readonly cancelled: AbortController;
  readonly over: Promise<void>;
}

/** Attempts to store an outcome; after the last the task counts as interrupted. */
const ATTEMPTS = 5;
const ATTEMPT_EVERY_MS = 1_000;

export class TaskRuns {
  readonly #ports: Ports;
  readonly #running = new Map<string, Running>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Creates the task durably and starts it. Throws `rate_limited`. */
  async start(run: TaskRun): Promise<McpTask> {
    const { ids, personal } = this.#ports;
    const id = ids.newId('tsk');
    const input = await personal.seal(run.owner.principalId, JSON.stringify(run.input));
    const task = await this.#ports.tasks.create({
      ...run.owner,
      id,
      tool: run.tool,
      ttlMs: run.ttlMs,
      input,
    });
    const cancelled = new AbortController();
    const over = this.#run(id, run, cancelled.signal).finally(() => this.#running.delete(id));
    this.#running.set(id, { cancelled, over });
    return task;
  }

  /** Aborts a run of this process. */
  cancel(id: string): void {
    this.#running.get(id)?.cancelled.abort();
  }

  /** Resolves when a run of this process ends, and after `ms` at the latest. */
  async over(id: string, ms: number, gone: AbortSignal): Promise<void> {
    const here = this.#running.get(id);
    const nap = this.#ports.clock.sleep(ms, gone);
    await (here ? Promise.race([here.over, nap]) : nap);
  }

  /** Resolves when every run has ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ over }) => over));
  }

  async #run(id: string, run: TaskRun, gone: AbortSignal): Promise<void> {
    const { log } = this.#ports;
    try {
      const end = await this.#endOf(run, gone);
      await this.#store(run.owner, id, end);
    } catch (error) {
      log.error('mcp task: outcome not stored', { task_id: id, error: String(error) });
    }
    await this.#ports.tasks.release(id).catch((error: unknown) => {
      // It expires.
      log.warn('mcp task: lease not released', { task_id: id, error: String(error) });
    });
  }

  async #endOf(run: TaskRun, gone: AbortSignal): Promise<TaskEnd> {
    const { outcome, failure } = await outcomeOf(run, gone, this.#ports);
    return {
      status: failure === null ? 'completed' : 'failed',
      statusMessage: failure,
      outcome: await this.#ports.personal.seal(run.owner.principalId, JSON.stringify(outcome)),
    };
  }

  async #store(owner: TaskOwner, id: string, end: TaskEnd): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#ports.tasks.end(owner, id, end);
        return;
      } catch (error) {
        if (attempt >= ATTEMPTS) throw error;
        await this.#ports.clock.sleep(ATTEMPT_EVERY_MS);
      }
    }
  }
}

interface Ended {
  readonly outcome: TaskOutcome;
  /** The reason in words; null = the tool succeeded. */
  readonly failure: string | null;
}

/** What the plain call would have answered; a refusal with an HTTP status is a result with `isError`. */
async function outcomeOf(run: TaskRun, gone: AbortSignal, { server }: Ports): Promise<Ended> {
  try {
    const { result, isError } = await run.call(gone);
    return { outcome: { kind: 'result', text: result }, failure: isError ? failureIn(result) : null };
  } catch (error) {
    if (error instanceof JSONRPCErrorException) {
      const { code, message } = error;
      const data: unknown = error.data;
      return { outcome: { kind: 'error', code, message, data }, failure: message };
    }
    const text = errorResult(error, run.requestId, { textBlock: server.mcpTextBlock, meta: {} });
    return { outcome: { kind: 'result', text }, failure: failureIn(text) };
  }
}

function failureIn(result: string): string {
  const { structuredContent } = JSON.parse(result) as {
    readonly structuredContent: { readonly error: { readonly code: string; readonly message: string } };
  };
  const { code, message } = structuredContent.error;
  return `${code}: ${message}`;
}
