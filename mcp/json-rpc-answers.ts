/** Responses of JSON-RPC 2.0 as text, with the ids and error codes that MCP uses. */

/** MCP has no null ids. */
export type MessageId = string | number;

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The result is JSON text already, so that it is serialised once. */
export const resultResponse = (id: MessageId, result: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;

/** Without an id when the request had none that could be read. */
export const errorResponse = (id: MessageId | undefined, { code, message, data }: RpcError): string =>
  JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message, data } });
