/** The ports that the MCP adapter uses, in memory; any other is missing on purpose and fails loudly. */
import { randomUUID } from 'node:crypto';
import type { AccessEntry, Ports, ServerInfo } from '../../../../commands/ports/ports.ts';
import type { McpSession, McpSessions } from '../../../../commands/ports/mcp.ts';
import { sampleServer } from '../../samples/server-info.ts';

/** Sessions in memory. Cached reads return the state at their time, so a test can observe who uses them. */
class MemorySessions implements McpSessions {
  readonly rows = new Map<string, McpSession>();
  /** `maxAgeMs` of each lookup, in order. */
  readonly ages: number[] = [];
  /** The error of creating and finding a session. */
  failure: Error | null = null;

  create(session: McpSession): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    this.rows.set(session.id, session);
    return Promise.resolve();
  }
  find(id: string, maxAgeMs: number): Promise<McpSession | null> {
    if (this.failure) return Promise.reject(this.failure);
    this.ages.push(maxAgeMs);
    return Promise.resolve(this.rows.get(id) ?? null);
  }
  setAdvancedTools(id: string, enabled: boolean): Promise<void> {
    const row = this.rows.get(id);
    if (row) this.rows.set(id, { ...row, advancedTools: enabled });
    return Promise.resolve();
  }
  end(id: string): Promise<void> {
    this.rows.delete(id);
    return Promise.resolve();
  }
}

export interface SamplePorts {
  readonly ports: Ports;
  readonly sessions: MemorySessions;
  readonly recorded: AccessEntry[];
  readonly logged: string[];
  readonly faults: { accessLogAway: boolean };
}

export function samplePorts(server: Partial<ServerInfo> = {}): SamplePorts {
  const sessions = new MemorySessions();
  const recorded: AccessEntry[] = [];
  const logged: string[] = [];
  const faults = { accessLogAway: false };
  const log = (message: string): void => {
    logged.push(message);
  };
  const used: Partial<Ports> = {
    clock: {
      now: () => new Date('2026-06-01T00:00:00.000Z'),
      elapsedMs: () => performance.now(),
      sleep: () => Promise.resolve(),
    },
    ids: {
      newId: (prefix) => `${prefix}_${randomUUID()}`,
      newUuid: () => randomUUID(),
      newNonce: () => randomUUID().replaceAll('-', ''),
      newSalt: () => Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url'),
      idForKey: (prefix, ...parts) => `${prefix}_${parts.join('-')}`,
      reservationName: (text) => text,
    },
    sessions,
    log: { info: log, warn: log, error: log },
    accessLog: {
      record: (entry) => {
        if (faults.accessLogAway) return Promise.reject(new Error('store away'));
        recorded.push(entry);
        return Promise.resolve();
      },
      countRefusal: () => undefined,
    },
    readModels: { waitFor: () => Promise.resolve(true) },
    directory: {
      state: { mailboxes: new Map() } as unknown as Ports['directory']['state'],
      isCurrent: true,
      untilCurrent: () => Promise.resolve(true),
      version: 1,
      waitFor: () => Promise.resolve(),
      waitForAll: () => Promise.resolve(),
    },
    server: { ...sampleServer(), ...server },
  };
  return { ports: used as Ports, sessions, recorded, logged, faults };
}
