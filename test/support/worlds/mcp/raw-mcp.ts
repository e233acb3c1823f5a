/** MCP by hand, as a script with curl sends it. */

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; null when it is not JSON. */
  readonly body: unknown;
}

export interface RawRequest {
  readonly method?: string;
  readonly bearer?: string;
  /** `undefined` omits a usual header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** Disconnects. */
  readonly signal?: AbortSignal;
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** Sends one request, by default with the usual headers. A string body is sent unchanged. */
export async function rawMcp(
  url: string,
  { method = 'POST', bearer = 'one', headers = {}, body, signal }: RawRequest,
): Promise<RawAnswer> {
  const usual: Record<string, string | undefined> = {
    authorization: `Bearer ${bearer}`,
    accept: 'application/json, text/event-stream',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  const sent = Object.entries(usual).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(url, {
    method,
    headers: sent,
    signal: signal ?? null,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) };
}

export const rpc = (method: string, params: unknown = {}, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

export const callOf = (name: string, args: unknown = {}, id: unknown = 1) =>
  rpc('tools/call', { name, arguments: args }, id);

export const helloOf = (protocolVersion: string) =>
  rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } });

const REVISION = '2026-07-28';

/** `_meta` of a complete request without a session. */
export const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A complete request of the revision without sessions. Arguments of `tools/call` are params. */
export const sessionless = (
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  id: unknown = 1,
) => ({
  body: rpc(method, { _meta: META, ...params }, id),
  headers: {
    'mcp-protocol-version': REVISION,
    'mcp-method': method,
    ...(typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {}),
  } as Record<string, string | undefined>,
});

/** A call of a tool without a session. */
export const sessionlessCall = (name: string, args: unknown = {}, id: unknown = 1) =>
  sessionless('tools/call', { name, arguments: args }, id);

/** Initializes and returns the headers of every later request. */
export async function openSession(
  url: string,
  protocolVersion: string,
  bearer = 'one',
): Promise<Record<string, string>> {
  const { headers, status } = await rawMcp(url, { body: helloOf(protocolVersion), bearer });
  const id = headers.get('mcp-session-id');
  if (status !== 200 || id === null) throw new Error(`initialize answered ${String(status)}`);
  return { 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion };
}
