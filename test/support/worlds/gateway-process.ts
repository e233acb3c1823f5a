/** A gateway in its own process, for effects only a process has: kill -9, a freeze, a second process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from './gateway.ts';
import { inheritedEnvironment } from './inherited-environment.ts';

export interface GatewayProcessOptions {
  /** Settings; only `inheritedEnvironment` is inherited besides. */
  readonly env: Readonly<Record<string, string>>;
  /** `infra/process/main.ts` by default. */
  readonly entry?: string;
}

const START_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 20_000;
const running = new Set<ChildProcess>();

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Ends within half a second of the test process that started it (`infra/process/end-signals.ts`). */
const ENDS_WITH_PARENT = { npm_lifecycle_event: 'test' };

export class GatewayProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  /** Everything printed so far. */
  output = '';
  /** The log, one JSON per line, and the message of a failed start. */
  errors = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = once(child, 'close');
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
  }

  /** Starts it and returns at once. */
  static spawn({ env, entry = 'infra/process/main.ts' }: GatewayProcessOptions): GatewayProcess {
    const child = spawn(process.execPath, [entry], {
      env: { ...inheritedEnvironment(), ...ENDS_WITH_PARENT, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    child.once('close', () => running.delete(child));
    return new GatewayProcess(child);
  }

  /** Starts it and waits until it listens. Throws with its output when it ends instead. */
  static async start(options: GatewayProcessOptions): Promise<GatewayProcess> {
    const started = GatewayProcess.spawn(options);
    await started.listening();
    return started;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The lines of the log at level error. */
  get failures(): string {
    return this.errors
      .split('\n')
      .filter((line) => line.includes('"level":"error"'))
      .join('\n');
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The address printed after `Listening on`: HTTP, or `esdb://…` of a process with stores only. */
  get address(): string {
    return /Listening on (\S+)\s/.exec(this.output)?.[1] ?? '';
  }

  /** Resolves with the address once it is printed. */
  async listening(): Promise<string> {
    await eventually(async () => {
      if (this.address !== '') return;
      if (this.hasEnded) await this.#exited;
      throw new Error(`it does not listen yet; it said:\n${this.output}${this.errors}`);
    }, START_WITHIN_MS);
    return this.address;
  }

  /** Resolves when `/health/ready` answers 200. */
  async ready(withinMs = START_WITHIN_MS): Promise<void> {
    const address = await this.listening();
    await eventually(async () => {
      const answer = await fetch(`${address}/health/ready`, { signal: AbortSignal.timeout(3_000) });
      if (!answer.ok) throw new Error(`not ready: ${await answer.text()}`);
    }, withinMs);
  }

  /** Its exit code once it has ended; null when a signal ended it. */
  async ended(): Promise<number | null> {
    await this.#exited;
    return this.#child.exitCode;
  }

  /** kill -9; resolves when it has ended. Safe when it has already ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** SIGSTOP: keeps its connections and locks and does nothing. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  /** SIGCONT. */
  wake(): void {
    this.#child.kill('SIGCONT');
  }

  /** Ctrl-C; resolves when it has ended. Throws when it must be killed after twenty seconds. */
  async stop(signal: 'SIGINT' | 'SIGTERM' = 'SIGTERM'): Promise<void> {
    if (this.hasEnded) return;
    this.wake();
    this.#child.kill(signal);
    const late = new AbortController();
    const inTime = await Promise.race([
      this.#exited.then(() => true),
      delay(STOP_WITHIN_MS, false, { signal: late.signal }),
    ]);
    late.abort();
    if (inTime) return;
    await this.kill();
    throw new Error(`it did not end by itself; it said:\n${this.output}${this.errors}`);
  }
}
