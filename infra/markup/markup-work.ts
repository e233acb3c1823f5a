/** The work on markup, in any thread. */
import { readHtml } from '../../commands/html/read-html.ts';
import { renderMarkup } from '../../commands/html/written-markup.ts';
import type { Markup } from '../../commands/ports/markup.ts';
import { renderMailHtml } from '../../read-api/approvals/preview/mail-html.ts';
import { renderMailText } from '../../read-api/approvals/preview/mail-text.ts';
import type { MarkupRefused } from '../../commands/html/written-markup.ts';

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
