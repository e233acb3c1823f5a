/** One child process of the test run, with its output and a time limit. */
import { spawn } from 'node:child_process';

export interface ChildResult {
  readonly code: number | null;
  /** Standard output and error in the order received, at most the last 200,000 characters. */
  readonly output: string;
  /** Why this process ended it, or null. */
  readonly ended: string | null;
}

export interface ChildOptions {
  readonly timeoutMs: number;
  /** Called once a second; a sentence ends the process and becomes `ended`. */
  readonly watch?: () => string | null;
}

const OUTPUT_LIMIT = 200_000;
const running = new Set<ReturnType<typeof spawn>>();

/** Runs a script with this Node. Resolves when the process has ended, whatever its result. */
export function runNode(args: readonly string[], options: ChildOptions): Promise<ChildResult> {
  return new Promise((resolve) => {
    const env = { ...process.env, NO_COLOR: '1' };
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-OUTPUT_LIMIT);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    let ended: string | null = null;
    const end = (reason: string): void => {
      ended ??= reason;
      child.kill('SIGKILL');
    };
    const seconds = String(options.timeoutMs / 1000);
    const timer = setTimeout(() => {
      end(`it was still running after ${seconds} s`);
    }, options.timeoutMs);
    const watching = setInterval(() => {
      const reason = options.watch?.() ?? null;
      if (reason !== null) end(reason);
    }, 1000);
    const finish = (code: number | null): void => {
      clearTimeout(timer);
      clearInterval(watching);
      running.delete(child);
      resolve({ code, output, ended });
    };
    child.on('error', (error) => {
      keep(Buffer.from(error.message));
      finish(null);
    });
    child.on('close', finish);
  });
}

/** Ends the running children, on Ctrl-C and on a supervisor's SIGTERM. */
export function endChildrenOnSignal(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      for (const child of running) child.kill(signal);
      process.exit(1);
    });
  }
}
