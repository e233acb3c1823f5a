/** A closed-loop load on an MCP endpoint, in its own process; prints rate and latencies as JSON. */
import http from 'node:http';

interface Job {
  readonly url: string;
  readonly token: string;
  readonly inFlight: number;
  readonly sessions: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}
const job = JSON.parse(process.argv[2] ?? '{}') as Job;
const agent = new http.Agent({ keepAlive: true, maxSockets: job.inFlight });

const post = (body: string, headers: Record<string, string>): Promise<{ session: string; body: string }> =>
  new Promise((resolve, reject) => {
    const request = http.request(
      job.url,
      {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${job.token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'content-length': Buffer.byteLength(body),
          ...headers,
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          const ok = response.statusCode !== undefined && response.statusCode < 300;
          const session = response.headers['mcp-session-id'];
          if (ok) resolve({ session: typeof session === 'string' ? session : '', body: text });
          else reject(new Error(`HTTP ${String(response.statusCode)}: ${text.slice(0, 200)}`));
        });
      },
    );
    request.on('error', reject).end(body);
  });

const rpc = (id: number, method: string, params: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });
const VERSION = '2025-11-25';

const sessions: string[] = [];
for (let index = 0; index < job.sessions; index += 1) {
  const clientInfo = { name: 'load', version: '1' };
  const { session } = await post(
    rpc(0, 'initialize', { protocolVersion: VERSION, capabilities: {}, clientInfo }),
    {},
  );
  sessions.push(session);
}

const call = rpc(1, 'tools/call', { name: 'get_identity', arguments: {} });
const started = performance.now();
const latencies: number[] = [];
let next = 0;

async function worker(): Promise<void> {
  for (;;) {
    const begin = performance.now();
    if (begin - started > job.warmUpMs + job.measureMs) return;
    next = (next + 1) % sessions.length;
    const headers = { 'mcp-session-id': sessions[next] ?? '', 'mcp-protocol-version': VERSION };
    const { body } = await post(call, headers);
    if (!body.includes('"structuredContent"')) throw new Error(`unexpected answer: ${body.slice(0, 200)}`);
    if (begin - started > job.warmUpMs) latencies.push(performance.now() - begin);
  }
}
await Promise.all(Array.from({ length: job.inFlight }, worker));
latencies.sort((a, b) => a - b);
const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
const perSecond = latencies.length / (job.measureMs / 1_000);
process.stdout.write(JSON.stringify({ perSecond, p50Ms: at(0.5), p99Ms: at(0.99) }));
agent.destroy();
