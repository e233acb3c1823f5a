/** B9: lines of an audit file that the verifier proves in a second, and its memory meanwhile. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileOf, KEY, SampleTrail } from '../test/support/audit/sample-trail.ts';
import { type Figure, ratio } from './figures.ts';

const VERIFIER = 'infra/console/verify-audit.mjs';
/** What `getrusage` says also counts the process that started this one. */
const AT_ENDS =
  'data:text/javascript,import{readFileSync}from"node:fs";process.on("exit",()=>process.stderr.write(/VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status","utf8"))[1]))';
const RUNS = 3;
/** The trail is built in memory; the verifier reads in pieces. */
const LARGEST = 100_000;

interface Run {
  readonly seconds: number;
  readonly memory: number;
}

function run(args: readonly string[]): Promise<Run> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', AT_ENDS, VERIFIER, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let kib = '';
    child.stderr.on('data', (chunk: Buffer) => (kib += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve({ seconds: (performance.now() - began) / 1000, memory: Number(kib) / 1024 });
      else reject(new Error(`the verifier ended with ${String(code)}: ${kib}`));
    });
  });
}

/** The anchor: lines a second that are read from the same file, parsed and hashed, and nothing else. */
async function bareLinesPerSecond(file: string): Promise<number> {
  const began = performance.now();
  let lines = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    JSON.parse(line);
    createHash('sha256').update(line).digest();
    lines += 1;
  }
  return (lines / (performance.now() - began)) * 1_000;
}

/** The best of some runs; the start of the process counts. */
async function atSize(folder: string, size: number): Promise<readonly Figure[]> {
  const [file, key] = [join(folder, 'audit.jsonl'), join(folder, 'key.txt')];
  writeFileSync(file, fileOf(new SampleTrail().fill(size).records()));
  writeFileSync(key, KEY.vkey);
  const runs: Run[] = [];
  while (runs.length < RUNS) runs.push(await run([file, '--key', key]));
  const name = `B9 audit file of ${size.toLocaleString('en')} lines`;
  const perSecond = size / Math.min(...runs.map(({ seconds }) => seconds));
  const bare = await bareLinesPerSecond(file);
  const rate = { name: `${name}, verified`, value: perSecond, unit: 'lines/s' };
  return [
    size < LARGEST ? rate : { ...rate, target: { atLeast: 50_000 } },
    { name: `${name}, parsed and hashed`, value: bare, unit: 'lines/s' },
    ratio(`${name}, verified ÷ parsed and hashed`, perSecond / bare, 'more'),
    {
      name: `${name}, memory`,
      value: Math.max(...runs.map(({ memory }) => memory)),
      unit: 'MiB',
      target: { atMost: 100 },
    },
  ];
}

export async function measureVerifier(sizes: readonly number[]): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  try {
    const figures: Figure[] = [];
    for (const size of sizes.filter((each) => each <= LARGEST)) figures.push(...(await atSize(folder, size)));
    return figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
