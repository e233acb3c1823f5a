/** The MCP endpoint over real HTTP on loopback, with ports in memory and bearers that represent callers. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Caller } from '../../../../commands/kernel/access.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { ServerInfo } from '../../../../commands/ports/ports.ts';
import { type McpOptions, openMcp } from '../../../../mcp/mcp-endpoint.ts';
import type { RequestGate } from '../../../../read-api/http/request-gate.ts';
import { type SamplePorts, samplePorts } from './sample-ports.ts';
import { type Sample, sampleRegistry } from './sample-registry.ts';
import type { CallName, McpCalls } from '../../../../commands/ports/mcp.ts';

/** The state of the test's request gate; tests change it. */
export interface Gate {
  /** Bearer → caller. */
  readonly callers: Map<string, Caller>;
  readonly counted: string[];
  atWork: number;
  waiting: number;
  /** Refuses every request. */
  closed: boolean;
  /** Refuses every write. */
  writesClosed: boolean;
}

export interface ServedMcp extends Sample, SamplePorts {
  readonly url: string;
  readonly gate: Gate;
  close(): Promise<void>;
}

const tooFast = (): GatewayError => new GatewayError('rate_limited', 'too fast', { retryAfterSeconds: 7 });

const doorOf = (gate: Gate): RequestGate => ({
  checkOrigin: ({ headers: { origin } }) => {
    if (origin !== undefined && origin !== 'http://good.example') {
      throw new GatewayError('origin_not_allowed', 'not this origin');
    }
    return false;
  },
  authenticate: ({ headers: { authorization = '' } }) => {
    const caller = gate.callers.get(authorization.replace('Bearer ', ''));
    if (caller) return Promise.resolve({ caller, client: null });
    return Promise.reject(
      new GatewayError(authorization === '' ? 'unauthenticated' : 'token_expired', 'no valid bearer'),
    );
  },
  afterBody: (_, visitor) => Promise.resolve(visitor),
  admit: () => {
    if (gate.closed) throw tooFast();
    gate.counted.push('request');
    gate.atWork += 1;
    return () => {
      gate.atWork -= 1;
    };
  },
  moveToWaitQuota: (_, release) => {
    release();
    gate.waiting += 1;
    return () => {
      gate.waiting -= 1;
    };
  },
  count: (_, effect) => {
    if (gate.writesClosed && effect === 'write') throw tooFast();
    gate.counted.push(effect);
  },
});

/** Serves until `close`. */
export async function serveMcp(
  server: Partial<ServerInfo> = {},
  more: Partial<Pick<McpOptions, 'registry' | 'ports'>> = {},
): Promise<ServedMcp> {
  const sample = sampleRegistry();
  const fake = samplePorts(server);
  const gate: Gate = {
    callers: new Map(),
    counted: [],
    atWork: 0,
    waiting: 0,
    closed: false,
    writesClosed: false,
  };
  const mcp = openMcp({
    registry: [...sample.registry, ...(more.registry ?? [])],
    ports: { ...fake.ports, ...more.ports },
    calls: memoryMcpCalls(),
    door: doorOf(gate),
  });
  const http = createServer(mcp.handle).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    ...sample,
    ...fake,
    gate,
    url: `http://127.0.0.1:${String(address.port)}/mcp`,
    close: async () => {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

const keyOf = ({ sessionId, requestId }: CallName): string => JSON.stringify([sessionId, requestId]);

/** Calls of one process, in memory. */
function memoryMcpCalls(): McpCalls {
  const open = new Map<string, (() => void)[]>();
  return {
    open: (call) => {
      const listeners: (() => void)[] = [];
      open.set(keyOf(call), listeners);
      return {
        onCancelled: (listener) => {
          listeners.push(listener);
        },
        [Symbol.dispose]: () => {
          open.delete(keyOf(call));
        },
      };
    },
    cancel: (call) => {
      for (const listener of open.get(keyOf(call)) ?? []) listener();
      return Promise.resolve();
    },
  };
}
