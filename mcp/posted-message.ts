/** A POST to `/mcp` as every revision receives it: the sender is authenticated and the body is JSON-RPC. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AuthenticatedRequest } from '../read-api/http/request-gate.ts';
import type { ToolCall } from './call-tool.ts';
import type { Envelope } from './json-rpc-messages.ts';

/** Who sent a request, and its id. */
export interface Arrival {
  readonly headers: IncomingHttpHeaders;
  readonly visitor: AuthenticatedRequest;
  readonly requestId: string;
}

export interface PostedMessage extends Arrival {
  readonly envelope: Envelope;
  readonly response: ServerResponse;
  /** Counts a call against the token. Throws `rate_limited`. */
  readonly admit: ToolCall['admit'];
}
