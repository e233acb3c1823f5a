/** What is done with markup, whichever thread does it. */
import { readHtml } from '../../commands/html/read-html.ts';
import { renderMarkup } from '../../commands/html/written-markup.ts';
import type { Markup } from '../../commands/ports/markup.ts';
import { renderMailHtml } from '../../read-api/approvals/render-mail-html.ts';
import { renderMailText } from '../../read-api/approvals/render-mail-text.ts';

export const markupWork: Markup = {
  render: async (written) => renderMarkup(written),
  read: (html, as, images) => readHtml(html, as, (contentId) => images[contentId] ?? null),
  show: async ({ html, text }) => ({
    mail: html === null ? null : await renderMailHtml(html),
    text: renderMailText(text),
  }),
};
