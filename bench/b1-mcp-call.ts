/** B1: `tools/call get_identity` through the whole stack, beside the official SDK's server, trivial tool. */
import { generateKeyPairSync } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { type Figure, ratio } from './figures.ts';
import { type DemoFacts, endChild, runScript, startScript } from './processes.ts';

interface Load {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const ROUNDS = 3;
const shape = { inFlight: 16, sessions: 64, warmUpMs: 2_000, measureMs: 5_000 };

async function load(url: string, token: string): Promise<Load> {
  return JSON.parse(await runScript('bench/b1/load.ts', [JSON.stringify({ ...shape, url, token })])) as Load;
}

const median = (loads: readonly Load[]): Load =>
  loads.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(loads.length / 2)] ?? {
    perSecond: 0,
    p50Ms: 0,
    p99Ms: 0,
  };

/** Rounds alternate, so that both run under the same machine load. */
export async function measureMcpCall(facts: DemoFacts): Promise<readonly Figure[]> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const peerToken = jsonwebtoken.sign({ sub: 'peer' }, privateKey, { algorithm: 'ES256', expiresIn: '1h' });
  const peer = await startScript('bench/b1/sdk-server.ts', [
    '0',
    JSON.stringify(publicKey.export({ format: 'jwk' })),
  ]);
  const ours: Load[] = [];
  const theirs: Load[] = [];
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      ours.push(await load(facts.mcp_url, facts.mcp_token));
      theirs.push(await load(`http://127.0.0.1:${peer.line}/mcp`, peerToken));
    }
  } finally {
    await endChild(peer.child);
  }
  const [a, b] = [median(ours), median(theirs)];
  return [
    { name: 'B1 gateway, calls/s', value: a.perSecond, unit: '/s' },
    { name: 'B1 official SDK server, calls/s', value: b.perSecond, unit: '/s' },
    ratio('B1 gateway ÷ SDK server', a.perSecond / b.perSecond, 'more', { target: { atLeast: 2 } }),
    { name: 'B1 gateway p50', value: a.p50Ms, unit: 'ms' },
    { name: 'B1 gateway p99', value: a.p99Ms, unit: 'ms', target: { atMost: 15 } },
    { name: 'B1 official SDK server, p99', value: b.p99Ms, unit: 'ms' },
    ratio('B1 p99, gateway ÷ SDK server', a.p99Ms / b.p99Ms, 'less'),
  ];
}
