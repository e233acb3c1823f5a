/** The state of the MCP endpoint in Postgres: sessions, tasks, and which replica runs a call. */
import type { Sealed } from '../values/sealed.ts';

export interface McpSession {
  readonly id: string;
  readonly tokenId: string;
  readonly orgId: string;
  readonly principalId: string;
  readonly revision: string;
  readonly advancedTools: boolean;
}

/** MCP sessions in Postgres (`vault`), sliding 24 h. */
export interface McpSessions {
  create(session: McpSession): Promise<void>;
  /**
   * Null when unknown or expired. Extends the session at most once a minute; may return a cached row up to
   * `maxAgeMs` old (0 = the row itself).
   */
  find(id: string, maxAgeMs: number): Promise<McpSession | null>;
  setAdvancedTools(id: string, enabled: boolean): Promise<void>;
  end(id: string): Promise<void>;
}

/**
 * Running requests of MCP sessions: their sender may cancel one, and the cancellation may arrive at any
 * replica.
 */

export interface CallName {
  readonly sessionId: string;
  /** The JSON-RPC id of the request; `1` and `"1"` are two. */
  readonly requestId: string | number;
}

/** A call while its client waits for the answer; disposed when the client no longer waits. */
export interface OpenCall extends Disposable {
  /** Calls the listener once when the client cancels the call; at once when it has. */
  onCancelled(listener: () => void): void;
}

export interface McpCalls {
  open(call: CallName): OpenCall;
  /**
   * Cancels the call, here or on another replica. Does nothing when it is over or unknown. Throws
   * `store_unavailable`.
   */
  cancel(call: CallName): Promise<void>;
}

/**
 * Tool calls that continue after they were answered (MCP 2025-11-25, `contract.md` 16), as every replica
 * knows them.
 */
type TaskStatus = 'working' | 'completed' | 'failed' | 'cancelled';

/** The owner of a task; no other principal can read it. */
export interface TaskOwner {
  readonly orgId: string;
  readonly principalId: string;
}

export interface NewTask extends TaskOwner {
  readonly id: string;
  readonly tool: string;
  readonly ttlMs: number;
  /** The call's input as JSON: a caller who fetches the outcome must still be allowed the call. */
  readonly input: Sealed;
}

export interface McpTask {
  readonly id: string;
  readonly tool: string;
  readonly status: TaskStatus;
  readonly statusMessage: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly ttlMs: number;
}

export interface TaskEnd {
  readonly status: Exclude<TaskStatus, 'working'>;
  readonly statusMessage: string | null;
  /** The answer of the call; null when it was interrupted or cancelled. */
  readonly outcome: Sealed | null;
}

/** A place in the list of tasks, ordered by creation. */
export interface TaskPlace {
  readonly createdAt: Date;
  readonly id: string;
}

/**
 * Tasks in Postgres until their ttl ends. The process that holds the lease of a task's id runs it. A working
 * task without a lease was interrupted, and fails when it is next read.
 */
export interface McpTasks {
  /**
   * Takes the lease of the id and creates a working task. Throws `rate_limited` when the owner has the
   * maximum number.
   */
  create(task: NewTask): Promise<McpTask>;
  /** Null for an unknown task, one of another owner, and an expired one. */
  find(owner: TaskOwner, id: string): Promise<McpTask | null>;
  /** Oldest first. */
  list(owner: TaskOwner, after: TaskPlace | null, most: number): Promise<readonly McpTask[]>;
  /** Input and outcome of a task of this owner; null as in `find`. */
  contents(
    owner: TaskOwner,
    id: string,
  ): Promise<{ readonly input: Sealed; readonly outcome: Sealed | null } | null>;
  /** Ends a working task permanently. Null when it is not working: an ended task never changes. */
  end(owner: TaskOwner, id: string, end: TaskEnd): Promise<McpTask | null>;
  /** Releases the lease once the run is over. */
  release(id: string): Promise<void>;
}
