/** Child processes of a benchmark: start, wait, end by pid. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const START_WITHIN_MS = 120_000;

/** Runs a script to its end and returns its output. Throws when it fails. */
export async function runScript(file: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${file} ended with ${String(code)}`);
  return text;
}

/** Starts a script and returns the first line it prints. */
export async function startScript(
  file: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').once('data', (chunk: string) => {
      resolve(chunk.trim());
    });
    child.once('close', (code) => {
      reject(new Error(`${file} ended with ${String(code)}`));
    });
  });
  return { child, line };
}

export interface DemoFacts {
  readonly base_url: string;
  readonly mcp_url: string;
  readonly rest_token: string;
  readonly mcp_token: string;
  readonly mailbox_id: string;
  readonly owner_email: string;
  readonly owner_password: string;
  readonly imap: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
  };
}

/** The options with which `npm run demo` starts Node. */
export const startOptions = (): readonly string[] => {
  const { config } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly config: { readonly node_flags: string };
  };
  return config.node_flags.split(' ');
};

/** The demo in its own process, with limits raised so that none applies. `more`: further options of Node. */
export async function startDemo(
  dataDir: string,
  port: number,
  more: readonly string[] = [],
): Promise<{ child: ChildProcess; facts: DemoFacts }> {
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    PORT: String(port),
    MALLOC_ARENA_MAX: '1',
    NODE_COMPILE_CACHE: 'node_modules/.cache/node',
    LIMIT_READS_PER_MINUTE: '100000000',
    LIMIT_WRITES_PER_MINUTE: '100000000',
    LIMIT_CONCURRENT_REQUESTS: '1000',
    EGRESS_ALLOW_WEBHOOKS: '127.0.0.1/32:*',
  };
  const child = spawn(process.execPath, [...startOptions(), ...more, 'infra/demo/demo.ts'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const file = `${dataDir}/demo.json`;
  const until = Date.now() + START_WITHIN_MS;
  while (Date.now() < until && child.exitCode === null) {
    if (existsSync(file)) {
      const facts = JSON.parse(readFileSync(file, 'utf8')) as DemoFacts;
      const ready = await fetch(`${facts.base_url}/health/ready`).catch(() => null);
      if (ready?.ok === true) return { child, facts };
    }
    await sleep(200);
  }
  throw new Error('the demo did not become ready');
}

/** Ends a child and waits for it. */
export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  await closed;
}
