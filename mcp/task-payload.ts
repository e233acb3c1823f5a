/** Tasks as MCP 2025-11-25 writes them, and the options a client may request. */
import { JSONRPCErrorException } from 'json-rpc-2.0';
import { z } from 'zod';
import type { McpTask } from '../commands/ports/mcp.ts';
import { INVALID_PARAMS } from './json-rpc-answers.ts';

export const MAX_TTL_MS = 24 * 60 * 60 * 1_000;
/** Long enough to fetch the answer; a shorter requested time is raised to it. */
export const MIN_TTL_MS = 60_000;
export const DEFAULT_TTL_MS = 60 * 60 * 1_000;
/** With the largest number of running tasks, polling stays within a token's limit of reads. */
const POLL_INTERVAL_MS = 2_000;

/** Marks messages that belong to a task (the meta key of the specification). */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Loose: protocol params may carry fields of other revisions. */
const TaskWish = z.looseObject({ ttl: z.number().min(0).optional() });

/** The requested lifetime of the task, or null when the params request no task. Throws a JSON-RPC error. */
export function taskTtl(params: Readonly<Record<string, unknown>>): number | null {
  if (params['task'] === undefined) return null;
  const parsed = TaskWish.safeParse(params['task']);
  if (!parsed.success) {
    throw new JSONRPCErrorException('task: expected an object, ttl in milliseconds', INVALID_PARAMS);
  }
  return Math.round(Math.min(MAX_TTL_MS, Math.max(MIN_TTL_MS, parsed.data.ttl ?? DEFAULT_TTL_MS)));
}

export const taskPayload = ({ id, status, statusMessage, createdAt, updatedAt, ttlMs }: McpTask) => ({
  taskId: id,
  status,
  ...(statusMessage === null ? {} : { statusMessage }),
  createdAt: createdAt.toISOString(),
  lastUpdatedAt: updatedAt.toISOString(),
  ttl: ttlMs,
  pollInterval: POLL_INTERVAL_MS,
});
