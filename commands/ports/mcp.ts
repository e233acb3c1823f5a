/** What the MCP endpoint keeps in Postgres: sessions, tasks, and which replica runs a call. */
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
  /** Null when unknown or expired. Touches at most once a minute; may be a copy up to `maxAgeMs` old (0 = the row). */
  find(id: string, maxAgeMs: number): Promise<McpSession | null>;
  setAdvancedTools(id: string, enabled: boolean): Promise<void>;
  end(id: string): Promise<void>;
}

/** Requests of MCP sessions under way: whoever sent one may cancel it, on whatever replica the word arrives. */

export interface CallName {
  readonly sessionId: string;
  /** The JSON-RPC id of the request; `1` and `"1"` are two. */
  readonly requestId: string | number;
}

/** A call while its client waits for the answer; disposed when nobody does any more. */
export interface OpenCall extends Disposable {
  /** Aborts when the client cancels the call. */
  readonly cancelled: AbortSignal;
}

export interface McpCalls {
  open(call: CallName): OpenCall;
  /** Cancels the call, here or on another replica. Nothing happens when it is over or unknown. Throws `store_unavailable`. */
  cancel(call: CallName): Promise<void>;
}

/** Tool calls that go on after they were answered (MCP 2025-11-25, `contract.md` 16): what every replica knows of them. */
export type TaskStatus = 'working' | 'completed' | 'failed' | 'cancelled';

/** Whose a task is: nobody else ever hears of it. */
export interface TaskOwner {
  readonly orgId: string;
  readonly principalId: string;
}

export interface NewTask extends TaskOwner {
  readonly id: string;
  readonly tool: string;
  readonly ttlMs: number;
  /** The call's input as JSON: who fetches the outcome must still be allowed the call. */
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
  /** What the call answered; null when it was cut off or cancelled. */
  readonly outcome: Sealed | null;
}

/** A place in the list of tasks, which is in order of creation. */
export interface TaskPlace {
  readonly createdAt: Date;
  readonly id: string;
}

/**
 * Tasks in Postgres until their ttl is over. A task is run by whoever holds the lease of its id: one that works without a
 * lease was cut off, and is failed from the moment anybody looks.
 */
export interface McpTasks {
  /** Takes the lease of the id and makes a working task. Throws `rate_limited` when its owner has as many as may be. */
  create(task: NewTask): Promise<McpTask>;
  /** Null for an unknown task, somebody else's, and one whose time is over. */
  find(owner: TaskOwner, id: string): Promise<McpTask | null>;
  /** Oldest first. */
  list(owner: TaskOwner, after: TaskPlace | null, most: number): Promise<readonly McpTask[]>;
  /** Input and outcome of a task of this owner; null as `find` has it. */
  contents(
    owner: TaskOwner,
    id: string,
  ): Promise<{ readonly input: Sealed; readonly outcome: Sealed | null } | null>;
  /** Ends a working task for good. Null when it is none: what has ended never changes. */
  end(owner: TaskOwner, id: string, end: TaskEnd): Promise<McpTask | null>;
  /** Gives up the lease, once the run is over. */
  release(id: string): Promise<void>;
}
