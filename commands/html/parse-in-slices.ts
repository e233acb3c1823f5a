/** Parses HTML a slice at a time, with a turn for others in between. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Parser } from 'htmlparser2';

export interface TagHandler {
  onopentag(name: string, attributes: Record<string, string>): void;
  ontext(text: string): void;
  /** Comes for every tag opened, also where the sender never closed it. */
  onclosetag(name: string): void;
  /** Tags opened and not closed yet. */
  readonly openTags: number;
}

const SLICE_CHARS = 32_768;
/** Deeper than any mail; the parser's time grows with the square of it. */
const MAX_OPEN_TAGS = 2_000;

/** Feeds the handler, entities decoded and names in lower case. What is nested beyond all measure ends there. */
export async function parseInSlices(html: string, handler: TagHandler): Promise<void> {
  const parser = new Parser(handler, { decodeEntities: true, lowerCaseTags: true });
  for (let at = 0; at < html.length && handler.openTags < MAX_OPEN_TAGS; at += SLICE_CHARS) {
    if (at > 0) await nextTurn();
    parser.write(html.slice(at, at + SLICE_CHARS));
  }
  parser.end();
}
