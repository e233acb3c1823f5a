/** A closed-loop load of one GET, in its own process; prints rate and latencies as JSON. */
import http from 'node:http';

interface Job {
  readonly url: string;
  readonly token: string;
  readonly items: number;
  readonly inFlight: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}
const job = JSON.parse(process.argv[2] ?? '{}') as Job;
const agent = new http.Agent({ keepAlive: true, maxSockets: job.inFlight });
const headers = { authorization: `Bearer ${job.token}`, accept: 'application/json' };

const get = (): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const request = http.request(job.url, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const body = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`HTTP ${String(response.statusCode)}: ${body.toString().slice(0, 200)}`));
      });
    });
    request.on('error', reject).end();
  });

const first = JSON.parse((await get()).toString()) as { readonly items: readonly unknown[] };
if (first.items.length !== job.items) throw new Error(`a page of ${String(first.items.length)}`);

const started = performance.now();
const latencies: number[] = [];

async function worker(): Promise<void> {
  for (;;) {
    const begin = performance.now();
    if (begin - started > job.warmUpMs + job.measureMs) return;
    await get();
    if (begin - started > job.warmUpMs) latencies.push(performance.now() - begin);
  }
}
await Promise.all(Array.from({ length: job.inFlight }, worker));
latencies.sort((a, b) => a - b);
const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
const perSecond = latencies.length / (job.measureMs / 1_000);
process.stdout.write(JSON.stringify({ perSecond, p50Ms: at(0.5), p99Ms: at(0.99) }));
agent.destroy();
