/** The thread that works on markup: it has no keys, no connections and no state, and may be ended at any time. */
import { parentPort } from 'node:worker_threads';
import { MarkupRefused } from '../../commands/html/written-markup.ts';
import type { MarkupAnswer, MarkupJob } from './markup-work.ts';
import { markupWork } from './markup-work.ts';

const post = (answer: MarkupAnswer): void => parentPort?.postMessage(answer);

async function answerTo({ name, args }: MarkupJob): Promise<MarkupAnswer> {
  // The arguments of a job belong to the method it names; the compiler cannot connect the two.
  const work = markupWork[name] as (...args: readonly unknown[]) => Promise<unknown>;
  try {
    return { kind: 'done', result: await work(...args) };
  } catch (error) {
    const reason = error instanceof MarkupRefused ? error.reason : null;
    return { kind: 'failed', reason, message: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on('message', (job: MarkupJob) => {
  void answerTo(job).then(post);
});
post({ kind: 'ready' });
