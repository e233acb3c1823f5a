/** The `Markup` port on a few worker threads: hostile markup can block a thread, never the process. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { ReadHtml } from '../../commands/html/read-html.ts';
import { MarkupRefused } from '../../commands/html/markup-refused.ts';
import type { Markup } from '../../commands/ports/markup.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import type { MarkupAnswer, MarkupJob } from './markup-worker.ts';
import { Worker } from 'node:worker_threads';

interface ThreadLimits {
  /** Milliseconds for one job, without the thread's start. */
  readonly jobMs: number;
  readonly heapMiB: number;
  /** Milliseconds without a job after which the thread ends and its memory is freed. */
  readonly idleMs: number;
}

const WORKER = new URL('./markup-worker.ts', import.meta.url);

interface Current {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
  deadline: NodeJS.Timeout | null;
}

class MarkupThread {
  readonly #limits: ThreadLimits;
  #worker: Worker | null = null;
  #isReady = false;
  #current: Current | null = null;
  #idle: NodeJS.Timeout | null = null;

  constructor(limits: ThreadLimits) {
    this.#limits = limits;
  }

  /** Call it only after the previous job has ended. Throws `MarkupRefused` for a job beyond its limits, which ends the thread. */
  run(job: MarkupJob): Promise<unknown> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    const worker = this.#worker ?? this.#start();
    // An idle thread does not keep the process alive, a job does.
    worker.ref();
    return new Promise((resolve, reject) => {
      this.#current = { resolve, reject, deadline: null };
      if (this.#isReady) this.#limitTime();
      worker.postMessage(job);
    });
  }

  #start(): Worker {
    const { heapMiB } = this.#limits;
    const worker = new Worker(WORKER, {
      resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: 16 },
    });
    worker.on('message', (answer: MarkupAnswer) => {
      if (this.#worker === worker) this.#take(answer);
    });
    worker.on('error', (error: Error & { readonly code?: string }) => {
      if (this.#worker === worker)
        this.#lose(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchMemory() : error);
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#lose(new Error('the thread for markup ended'));
    });
    this.#worker = worker;
    this.#isReady = false;
    return worker;
  }

  #take(answer: MarkupAnswer): void {
    if (answer.kind === 'ready') {
      this.#isReady = true;
      this.#limitTime();
      return;
    }
    const current = this.#end();
    if (answer.kind === 'done') current?.resolve(answer.result);
    else
      current?.reject(
        answer.reason === null ? new Error(answer.message) : new MarkupRefused(answer.reason, answer.message),
      );
    this.#worker?.unref();
    this.#idle = setTimeout(() => {
      this.#lose(null);
    }, this.#limits.idleMs).unref();
  }

  #limitTime(): void {
    if (this.#current === null) return;
    this.#current.deadline = setTimeout(() => {
      this.#lose(tooSlow());
    }, this.#limits.jobMs);
  }

  #end(): Current | null {
    const current = this.#current;
    this.#current = null;
    if (current?.deadline != null) clearTimeout(current.deadline);
    return current;
  }

  /** Ends the thread; null = no caller waits for it. */
  #lose(error: Error | null): void {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.terminate();
    const current = this.#end();
    if (error !== null) current?.reject(error);
  }
}

const tooMuchMemory = (): MarkupRefused =>
  new MarkupRefused('too_costly', 'It takes too much memory to be read.');
const tooSlow = (): MarkupRefused => new MarkupRefused('too_costly', 'It takes too long to be read.');

export interface MarkupLimits extends ThreadLimits {
  readonly threads: number;
  /** Jobs that wait for a thread; more are refused. */
  readonly waiting: number;
}

/** Mail from people takes milliseconds, the worst accepted markup a second. */
const LIMITS: MarkupLimits = { threads: 2, waiting: 100, jobMs: 8_000, heapMiB: 192, idleMs: 60_000 };

/** Threads start with the first job. */
export function createMarkup(limits: MarkupLimits): Markup {
  const free: MarkupThread[] = [];
  const slots = new Semaphore(limits.threads);

  async function run(name: MarkupJob['name'], args: readonly unknown[]): Promise<unknown> {
    if (slots.waiting >= limits.waiting) throw overloaded();
    return await slots.run(async () => {
      const thread = free.pop() ?? new MarkupThread(limits);
      try {
        return await thread.run({ name, args });
      } finally {
        free.push(thread);
      }
    });
  }

  const job =
    <Name extends keyof Markup>(name: Name) =>
    (...args: Parameters<Markup[Name]>) =>
      run(name, args) as ReturnType<Markup[Name]>;
  const read = job('read');
  return {
    render: job('render'),
    show: job('show'),
    read: (...args) => read(...args).catch(unreadable),
  };
}

const UNREADABLE: ReadHtml = {
  ...{ content: '', isCut: true, isUnreadable: true, hiddenChars: 0, smallChars: 0, faintChars: 0 },
  ...{ remoteResources: 0, misleadingLinks: 0 },
};

/** A page of messages must not fail because of one of them. */
function unreadable(error: unknown): ReadHtml {
  if (error instanceof MarkupRefused) return UNREADABLE;
  throw error;
}

const overloaded = (): GatewayError =>
  new GatewayError('overloaded', 'Too many texts are being rendered at once; try again shortly.', {
    retryAfterSeconds: 1,
  });

/** Shared by the process. */
export const markupThreads = createMarkup(LIMITS);
