/** Where a text quotes earlier messages. */

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** The line that Outlook and similar programs write before a message quoted unchanged. */
const ORIGINAL =
  /^\s*-{2,}\s*(original message|ursprüngliche nachricht|message d'origine|forwarded message)\s*-{2,}\s*$/i;
const MAX_SEPARATOR_CHARS = 100;

/** Ranges of lines that begin with `>` (RFC 3676 4.5), and all text after an "original message" line. */
export function quotedLines(text: string): readonly Range[] {
  const ranges: { start: number; end: number }[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    if (line.length <= MAX_SEPARATOR_CHARS && ORIGINAL.test(line))
      return joined(ranges, { start, end: text.length });
    const end = start + line.length;
    if (line.startsWith('>')) {
      const last = ranges.at(-1);
      if (last?.end === start - 1) last.end = end;
      else ranges.push({ start, end });
    }
    start = end + 1;
  }
  return ranges;
}

const joined = (ranges: readonly Range[], rest: Range): readonly Range[] => {
  const last = ranges.at(-1);
  return last?.end === rest.start - 1
    ? [...ranges.slice(0, -1), { start: last.start, end: rest.end }]
    : [...ranges, rest];
};

/** The outermost `blockquote` elements of clean HTML. */
export function quotedElements(html: string): readonly Range[] {
  const ranges: Range[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: tag, 1: slash, index } of html.matchAll(/<(\/?)blockquote\b[^<>]*>/g)) {
    if (slash === '') {
      if (depth === 0) start = index;
      depth += 1;
    } else {
      depth -= 1;
      if (depth === 0) ranges.push({ start, end: index + tag.length });
    }
  }
  return ranges;
}

/** The parts of the ranges between two characters, relative to the first of them. */
export const within = (ranges: readonly Range[], from: number, to: number): Range[] =>
  ranges
    .map(({ start, end }) => ({ start: Math.max(0, start - from), end: Math.min(to, end) - from }))
    .filter(({ start, end }) => start < end);

/** A text without its ranges. */
export function withoutQuotes(text: string, ranges: readonly Range[]): string {
  let at = 0;
  const kept: string[] = [];
  for (const { start, end } of ranges) {
    kept.push(text.slice(at, start));
    at = end;
  }
  return [...kept, text.slice(at)].join(' ');
}
