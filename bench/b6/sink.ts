/** An endpoint of webhooks in its own process: answers 200 at once, or never under `/hang`. `/stats` tells what came, and forgets it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let latencies: number[] = [];
let lastAt = 0;
let arrivals: number[] = [];

const server = createServer((request, response) => {
  if (request.url === '/stats') {
    response.end(JSON.stringify({ latencies, arrivals, lastAt }));
    latencies = [];
    arrivals = [];
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/hang') return;
    const { timestamp } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly timestamp: string };
    lastAt = Date.now();
    latencies.push(lastAt - Date.parse(timestamp));
    arrivals.push(lastAt);
    response.end();
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${String((server.address() as AddressInfo).port)}\n`);
});
process.once('SIGTERM', () => {
  process.exit();
});
