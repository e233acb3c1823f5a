/** The peer of B1: the official SDK's server with one trivial tool. It verifies the same JWT per request. */
import { randomUUID } from 'node:crypto';
import { createPublicKey } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import jsonwebtoken from 'jsonwebtoken';

const [port = '0', publicKey = '{}'] = process.argv.slice(2);
const key = createPublicKey({ key: JSON.parse(publicKey) as Record<string, string>, format: 'jwk' });

const transports = new Map<string, StreamableHTTPServerTransport>();

async function connect(): Promise<StreamableHTTPServerTransport> {
  const server = new McpServer({ name: 'peer', version: '1.0.0' });
  server.registerTool('get_identity', { description: 'Who am I.', inputSchema: {} }, () => ({
    content: [{ type: 'text', text: '{"ok":true}' }],
    structuredContent: { ok: true },
  }));
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: true,
    onsessioninitialized: (id) => {
      transports.set(id, transport);
    },
  });
  // The SDK's own types conflict under exactOptionalPropertyTypes.
  await server.connect(transport);
  return transport;
}

const app = express();
app.disable('x-powered-by').use(express.json());
app.post('/mcp', async (request, response) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
  try {
    jsonwebtoken.verify(token, key, { algorithms: ['ES256'] });
  } catch {
    response.status(401).end();
    return;
  }
  const session = request.headers['mcp-session-id'];
  const transport = typeof session === 'string' ? transports.get(session) : await connect();
  if (transport) await transport.handleRequest(request, response, request.body);
  else response.status(404).end();
});
const listener = app.listen(Number(port), '127.0.0.1', () => {
  const address = listener.address();
  process.stdout.write(`${String(typeof address === 'object' && address ? address.port : 0)}\n`);
});
