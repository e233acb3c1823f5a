/** A body as an approver is shown it, or why it is not. */
import type { Markup, ShownParts } from '../ports/markup.ts';
import { MarkupRefused } from '../html/written-markup.ts';

/** `too_costly` for one that takes too long or too much memory. Throws `overloaded`. */
export async function shownBody(
  markup: Pick<Markup, 'show'>,
  { html, text }: { readonly html: string | null; readonly text: string },
): Promise<ShownParts | 'too_costly'> {
  try {
    return await markup.show({ html, text });
  } catch (error) {
    if (error instanceof MarkupRefused) return 'too_costly';
    throw error;
  }
}
