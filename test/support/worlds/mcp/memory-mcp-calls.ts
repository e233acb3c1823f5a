import type { CallName, McpCalls } from '../../../../commands/ports/mcp.ts';

const keyOf = ({ sessionId, requestId }: CallName): string => JSON.stringify([sessionId, requestId]);

/** Calls of one process, in memory. */
export function memoryMcpCalls(): McpCalls {
  const open = new Map<string, AbortController>();
  return {
    open: (call) => {
      const controller = new AbortController();
      open.set(keyOf(call), controller);
      return {
        cancelled: controller.signal,
        [Symbol.dispose]: () => {
          open.delete(keyOf(call));
        },
      };
    },
    cancel: (call) => {
      open.get(keyOf(call))?.abort();
      return Promise.resolve();
    },
  };
}
