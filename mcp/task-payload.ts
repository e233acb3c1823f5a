/** Tasks as MCP 2025-11-25 writes them, and what a client may ask of one. */
import { JSONRPCErrorException } from 'json-rpc-2.0';
import { z } from 'zod';
import type { McpTask } from '../commands/ports/mcp.ts';
import { INVALID_PARAMS } from './call-tool.ts';

export const MAX_TTL_MS = 24 * 60 * 60 * 1_000;
/** Long enough to fetch the answer; a shorter wish is raised to it. */
export const MIN_TTL_MS = 60_000;
export const DEFAULT_TTL_MS = 60 * 60 * 1_000;
/** With as many tasks as may be at work, polling stays within the reads of a token. */
const POLL_INTERVAL_MS = 2_000;

/** What follows a call that became a task (spec name of the meta key). */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Loose: protocol params may carry fields of other revisions. */
const TaskWish = z.looseObject({ ttl: z.number().min(0).optional() });

/** How long the task of these params is to be kept, or null when they ask for none. Throws a JSON-RPC error. */
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
