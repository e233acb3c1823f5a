/** How much of a sender's HTML is read. */

/** Mail written by people is far shorter. */
export const MAX_HTML_CHARS = 500_000;

/** Cut so that the output for a longer part begins with the output for a shorter one. */
export const upToLastTag = (html: string): string => html.slice(0, html.lastIndexOf('>') + 1);
