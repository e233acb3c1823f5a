/** The readable body of a message: a window of its text, with quoted history marked and never removed. */
import { z } from 'zod';
import type { FetchedText } from '../../commands/kernel/mail-port.ts';

export const DEFAULT_BODY_CHARS = 32_768;
export const MAX_BODY_CHARS = 262_144;
const PREVIEW_CHARS = 160;

export const Body = z.object({
  format: z.enum(['text']),
  content: z.string(),
  truncated: z.boolean(),
  total_chars: z.int(),
  next_offset: z.int().nullable(),
  quoted_ranges: z.array(z.object({ start: z.int(), end: z.int() })).describe('Character ranges of content.'),
});
export type Body = z.output<typeof Body>;

export interface BodyWindow {
  readonly offset: number;
  readonly maxChars: number;
}

/** Lines that begin with `>` (RFC 3676 4.5), joined into ranges of characters. */
export function quotedRanges(text: string): Body['quoted_ranges'] {
  const ranges: { start: number; end: number }[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
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

/** `preview` and `body` of a message whose text was fetched up to the window's end. */
export function bodyOf(text: FetchedText, { offset, maxChars }: BodyWindow): { preview: string; body: Body } {
  const content = text.content.slice(offset, offset + maxChars);
  const end = offset + content.length;
  const rest = end < text.totalChars;
  const unquoted = text.content.split('\n').filter((line) => !line.startsWith('>'));
  return {
    preview: unquoted.join(' ').replaceAll(/\s+/g, ' ').trim().slice(0, PREVIEW_CHARS),
    body: {
      format: 'text',
      content,
      truncated: rest,
      total_chars: text.totalChars,
      next_offset: rest ? end : null,
      quoted_ranges: quotedRanges(content),
    },
  };
}
