/**
 * A closed-loop load of one GET, or of POSTs that each name another time, in its own process; prints rate and
 * latencies as JSON.
 */
import http from 'node:http';
import { percentile } from '../figures.ts';
import { instantAt } from './instants.ts';

export interface Job {
  readonly url: string;
  readonly token: string;
  /** In each page. */
  readonly items: number;
  readonly inFlight: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** Null = a GET. `$time` in `before` is another instant each time. */
  readonly bodies: { readonly before: object; readonly firstMs: number; readonly lastMs: number } | null;
}

export interface Load {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const job = JSON.parse(process.argv[2] ?? '{}') as Job;
const agent = new http.Agent({ keepAlive: true, maxSockets: job.inFlight });

let asked = 0;

function nextBody(): string | null {
  if (job.bodies === null) return null;
  const { before, firstMs, lastMs } = job.bodies;
  asked += 1;
  const time = new Date(instantAt(asked, firstMs, lastMs)).toISOString();
  return JSON.stringify(before).replace('$time', time);
}

const ask = (): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const body = nextBody();
    const headers = { authorization: `Bearer ${job.token}`, accept: 'application/json' };
    const options =
      body === null
        ? { agent, headers }
        : { agent, method: 'POST', headers: { ...headers, 'content-type': 'application/json' } };
    const request = http.request(job.url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const answer = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve(answer);
        else reject(new Error(`HTTP ${String(response.statusCode)}: ${answer.toString().slice(0, 200)}`));
      });
    });
    request.on('error', reject).end(body ?? undefined);
  });

const first = JSON.parse((await ask()).toString()) as { readonly items: readonly unknown[] };
if (first.items.length !== job.items) throw new Error(`a page of ${String(first.items.length)}`);

const started = performance.now();
const latencies: number[] = [];

async function worker(): Promise<void> {
  for (;;) {
    const begin = performance.now();
    if (begin - started > job.warmUpMs + job.measureMs) return;
    await ask();
    if (begin - started > job.warmUpMs) latencies.push(performance.now() - begin);
  }
}
await Promise.all(Array.from({ length: job.inFlight }, worker));
const load: Load = {
  perSecond: latencies.length / (job.measureMs / 1_000),
  p50Ms: percentile(latencies, 0.5),
  p99Ms: percentile(latencies, 0.99),
};
process.stdout.write(JSON.stringify(load));
agent.destroy();
