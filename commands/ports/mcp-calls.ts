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
