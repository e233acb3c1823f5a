/** The thread that works on markup: it has no keys, no connections and no state, and may be ended at any time. */
import { parentPort } from 'node:worker_threads';
import { renderMarkup } from '../../commands/html/written-markup.ts';
import { readHtml } from '../../commands/html/read-html.ts';
import { MarkupRefused } from '../../commands/html/markup-refused.ts';
import type { Markup } from '../../commands/ports/markup.ts';
import { renderMailHtml } from '../../read-api/approvals/preview/mail-html.ts';
import { renderMailText } from '../../read-api/approvals/preview/mail-text.ts';

export const markupWork: Markup = {
  render: async (written) => renderMarkup(written),
  read: (html, as, images) => readHtml(html, as, (contentId) => images[contentId] ?? null),
  show: async ({ html, text }) => ({
    mail: html === null ? null : await renderMailHtml(html),
    text: renderMailText(text),
  }),
};

/** The messages between the process and its markup threads. */
export interface MarkupJob {
  readonly name: keyof Markup;
  readonly args: readonly unknown[];
}

export type MarkupAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly result: unknown }
  /** `reason` is null for an internal error. */
  | { readonly kind: 'failed'; readonly reason: MarkupRefused['reason'] | null; readonly message: string };

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
