/** The input fields that request message text, shared by every route that returns it. */
import { z } from 'zod';
import type { Context } from '../../commands/kernel/capability.ts';
import type { BodySource } from '../../commands/mail/message.ts';
import { pageLimit } from '../paging/page.ts';

export const DEFAULT_BODY_CHARS = 32_768;
export const MAX_BODY_CHARS = 262_144;
/** Messages with a body in one answer. */
const MAX_BODIES = 50;
/** Plain text that a preview is made from. */
const PREVIEW_SOURCE_CHARS = 2_000;

export const BODY_FORMATS = ['text', 'markdown', 'html'] as const;
export type BodyFormat = (typeof BODY_FORMATS)[number];

const IncludeBody = z
  .enum(['none', 'preview', ...BODY_FORMATS])
  .optional()
  .describe('preview: one line; the others: preview and cleaned body. Needs messages:body.');

export const bodyFields = {
  include_body: IncludeBody,
  max_body_chars: z
    .int()
    .min(1)
    .max(MAX_BODY_CHARS)
    .optional()
    .describe('Characters of each body, 32768 by default.'),
};

/** Only where exactly one message is requested. */
export const BodyOffset = z
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER - MAX_BODY_CHARS)
  .optional();

interface BodyFields {
  readonly include_body?: z.output<typeof IncludeBody>;
  readonly max_body_chars?: number | undefined;
  readonly body_offset?: number | undefined;
}

/** The requested part of the text. */
export interface BodyWindow {
  readonly format: BodyFormat | 'preview';
  readonly offset: number;
  readonly maxChars: number;
}

/** The requested window of text, or null. */
export const bodyWindow = ({ include_body, max_body_chars, body_offset }: BodyFields): BodyWindow | null =>
  include_body === undefined || include_body === 'none'
    ? null
    : { format: include_body, offset: body_offset ?? 0, maxChars: max_body_chars ?? DEFAULT_BODY_CHARS };

/** True when a body is requested, so that `body_offset` applies. */
export const hasOffsets = (fields: BodyFields): boolean => {
  const format = bodyWindow(fields)?.format;
  return format !== undefined && format !== 'preview';
};

/** The text to fetch for the window: `textChars` and `bodySource` of a mail query. */
export function textFor(body: BodyWindow | null): {
  readonly textChars: number | null;
  readonly bodySource: BodySource;
} {
  if (body === null) return { textChars: null, bodySource: 'plain' };
  if (body.format === 'preview') return { textChars: PREVIEW_SOURCE_CHARS, bodySource: 'plain' };
  return {
    textChars: body.offset + body.maxChars,
    bodySource: body.format === 'text' ? 'plain' : 'html',
  };
}

/** The scopes that reading requires with this choice. */
export const bodyScopes = (fields: BodyFields) =>
  bodyWindow(fields) === null ? (['messages:read'] as const) : (['messages:read', 'messages:body'] as const);

/** A request for bodies caps the page silently (`contract.md` 4). Throws like `pageLimit`. */
export const cappedLimit = (
  context: Context,
  fields: BodyFields,
  limit: number | undefined,
  path: string,
): number => {
  const asked = pageLimit(context, limit, path);
  return bodyWindow(fields) === null ? asked : Math.min(asked, MAX_BODIES);
};
