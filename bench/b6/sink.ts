/**
 * An endpoint of webhooks in its own process: answers 200 at once, under `/at-times` only while it does not hang. `/hang` and `/release`
 * begin and end that; `/stats` tells what came to `/ok`, and forgets it.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

let latencies: number[] = [];
let lastAt = 0;
let arrivals: number[] = [];
/** The requests that wait for an answer; null while none hangs. */
let held: ServerResponse[] | null = null;

function receive(body: string): void {
  const { timestamp } = JSON.parse(body) as { readonly timestamp: string };
  lastAt = Date.now();
  latencies.push(lastAt - Date.parse(timestamp));
  arrivals.push(lastAt);
}

/** What the benchmark asks for. */
const COMMANDS: Readonly<Record<string, () => string>> = {
  '/stats': () => {
    const text = JSON.stringify({ latencies, arrivals, lastAt });
    latencies = [];
    arrivals = [];
    return text;
  },
  '/hang': () => {
    held ??= [];
    return '';
  },
  '/release': () => {
    for (const response of held ?? []) response.end();
    held = null;
    return '';
  },
};

const server = createServer((request, response) => {
  const command = COMMANDS[request.url ?? ''];
  if (command) {
    response.end(command());
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const isCounted = request.url === '/ok';
    if (isCounted) receive(Buffer.concat(chunks).toString());
    if (isCounted || held === null) response.end();
    else held.push(response);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${String((server.address() as AddressInfo).port)}\n`);
});
process.once('SIGTERM', () => {
  process.exit();
});
