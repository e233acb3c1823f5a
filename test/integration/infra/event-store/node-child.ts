/** Starts event nodes as processes, so that they can be killed, stopped in their tracks, and measured by themselves. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { NodeFacts, NodeJob } from './node-process.ts';

const START_TIMEOUT_MS = 60_000;

export class NodeChild {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Resolves when the node serves. Rejects when the process ends instead. */
  static async start(job: Pick<NodeJob, 'databaseUrl'> & Partial<NodeJob>): Promise<NodeChild> {
    const argument = JSON.stringify({ port: 0, batchAppend: true, ...job } satisfies NodeJob);
    const child = fork(new URL('node-process.ts', import.meta.url).pathname, [argument], {
      execArgv: ['--expose-gc'],
    });
    const facts = await answer(child);
    return new NodeChild(child, facts.port);
  }

  get url(): string {
    return `esdb://127.0.0.1:${String(this.port)}?tls=false`;
  }

  async facts(): Promise<NodeFacts> {
    this.#child.send('facts');
    return answer(this.#child);
  }

  /** Ends the process, by default at once, and waits until it is gone. Gives its exit code, null when a signal ended it. */
  async end(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<number | null> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return exitCode;
    const gone = once(this.#child, 'exit');
    this.#child.kill(signal);
    const [code] = (await gone) as [number | null];
    return code;
  }

  /** Stops it in its tracks, as a paused machine does. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }
}

async function answer(child: ChildProcess): Promise<NodeFacts> {
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, AbortSignal.timeout(START_TIMEOUT_MS)]);
  const told = once(child, 'message', { signal }) as Promise<[NodeFacts]>;
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`the event node ended with ${String(code)}`);
  });
  // Of the two, the one that lost is given up.
  ended.catch(() => undefined);
  try {
    const [facts] = await Promise.race([told, ended]);
    return facts;
  } finally {
    done.abort();
  }
}
