/** The style sheets inside of an HTML mail. */
import { parseInSlices, type TagHandler } from './parse-in-slices.ts';
import { StyleRules } from './style-rules.ts';

const MAX_SHEET_CHARS = 200_000;

/** The rules of all its sheets; they may stand behind what they hide, so the HTML is read through once for them. */
export async function styleRulesOf(html: string): Promise<StyleRules> {
  const sheets = new SheetCollector();
  if (/<style/i.test(html)) await parseInSlices(html, sheets);
  return sheets.rules;
}

class SheetCollector implements TagHandler {
  readonly rules = new StyleRules();
  openTags = 0;
  #sheet: string | null = null;
  #length = 0;

  onopentag(name: string): void {
    this.openTags += 1;
    if (name === 'style') this.#sheet = '';
  }

  ontext(text: string): void {
    if (this.#sheet === null || this.#length > MAX_SHEET_CHARS) return;
    this.#sheet += text;
    this.#length += text.length;
  }

  onclosetag(name: string): void {
    this.openTags -= 1;
    if (name !== 'style' || this.#sheet === null) return;
    this.rules.add(this.#sheet);
    this.#sheet = null;
  }
}
