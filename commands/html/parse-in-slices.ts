/** Parses HTML in slices and yields to the event loop in between. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Parser } from 'htmlparser2';

export interface TagHandler {
  onopentag(name: string, attributes: Record<string, string>): void;
  ontext(text: string): void;
  /** Called for every opened tag, even if the sender never closed it. */
  onclosetag(name: string): void;
  /** Number of tags opened and not yet closed. */
  readonly openTags: number;
}

const SLICE_CHARS = 32_768;
/** Deeper than any mail; the parser's time is quadratic in it. */
const MAX_OPEN_TAGS = 2_000;

/** Feeds the handler, entities decoded and names in lower case. Stops at excessive nesting. */
export async function parseInSlices(html: string, handler: TagHandler): Promise<void> {
  const parser = new Parser(handler, { decodeEntities: true, lowerCaseTags: true });
  for (let at = 0; at < html.length && handler.openTags < MAX_OPEN_TAGS; at += SLICE_CHARS) {
    if (at > 0) await nextTurn();
    parser.write(html.slice(at, at + SLICE_CHARS));
  }
  parser.end();
}
