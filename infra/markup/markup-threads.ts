/** The `Markup` port on a few worker threads: what hostile markup holds up is a thread, never the process. */
import { GatewayError } from '../../commands/values/errors.ts';
import { type ReadHtml, UNREADABLE } from '../../commands/html/read-html.ts';
import type { Markup } from '../../commands/ports/markup.ts';
import { MarkupRefused } from '../../commands/html/written-markup.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import type { MarkupJob } from './markup-work.ts';
import { MarkupThread, type ThreadLimits } from './markup-thread.ts';

export interface MarkupLimits extends ThreadLimits {
  readonly threads: number;
  /** Jobs that wait for a thread; more are refused. */
  readonly waiting: number;
}

/** Mail of persons takes milliseconds, the worst that is let through a second. */
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

/** A page of messages is not to fail for one of them. */
function unreadable(error: unknown): ReadHtml {
  if (error instanceof MarkupRefused) return UNREADABLE;
  throw error;
}

const overloaded = (): GatewayError =>
  new GatewayError('overloaded', 'Too many texts are being rendered at once; try again shortly.', {
    retryAfterSeconds: 1,
  });

/** Of this process. */
export const markupThreads = createMarkup(LIMITS);
