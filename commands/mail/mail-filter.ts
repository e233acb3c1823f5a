/** The filter of a selection (`contract.md` 4): implicit AND of its keys, groups `any`, `all`, `not`. */
import { z } from 'zod';

/**
 * No text of a message contains U+0000 or half a surrogate pair, and no database or mail server accepts them.
 */
const isSpeakable = (value: string): boolean => value.isWellFormed() && !value.includes('\0');
const text = z.string().min(1).max(1_000).refine(isSpeakable, 'No U+0000, no half of a surrogate pair.');
const instant = z.iso
  .datetime({ offset: true })
  .describe('RFC 3339 with a zone (2026-01-31T00:00:00Z); after includes it.');
const bytes = z.int().min(0);

const leaves = {
  seen: z.boolean().optional(),
  flagged: z.boolean().optional(),
  answered: z.boolean().optional(),
  draft: z.boolean().optional(),
  has_attachment: z.boolean().optional(),
  from_contains: text.optional(),
  to_contains: text.optional(),
  cc_contains: text.optional(),
  any_address: text.optional().describe('Any sender or recipient.'),
  from_domain: text.optional().describe('Exactly.'),
  subject_contains: text.optional(),
  body_contains: text.optional().describe("By the mail server's rules."),
  header: z.strictObject({ name: text, contains: z.string().max(1_000).refine(isSpeakable) }).optional()
    .describe("By the mail server's rules."),
  received_after: instant.optional(),
  received_before: instant.optional(),
  sent_after: instant.optional(),
  sent_before: instant.optional(),
  size_min: bytes.optional(),
  size_max: bytes.optional(),
  keyword: text.optional(),
  not_keyword: text.optional(),
  thread_id: text.optional(),
  message_id_header: text.optional(),
  attachment_name_contains: text.optional(),
}; // prettier-ignore

type Leaves = z.output<z.ZodObject<typeof leaves>>;

export interface Filter extends Leaves {
  any?: Filter[] | undefined;
  all?: Filter[] | undefined;
  not?: Filter | undefined;
}

const MAX_DEPTH = 4;
const MAX_LEAVES = 50;

/**
 * A group appears as a plain object in JSON Schema (model APIs refuse recursive `$ref`s) and is validated as
 * a filter.
 */
const anyObject: z.ZodType = z.record(z.string(), z.unknown());
const group: z.ZodType<Filter> = anyObject
  .pipe(z.lazy(() => FilterObject))
  .describe('A filter; groups up to four deep.');

const FilterObject: z.ZodType<Filter> = z.strictObject({
  ...leaves,
  any: z.array(group).min(1).max(MAX_LEAVES).optional(),
  all: z.array(group).min(1).max(MAX_LEAVES).optional(),
  not: group.optional(),
});

/** The number of conditions in a filter, including its groups. */
function countLeaves(filter: Filter): number {
  const { any = [], all = [], not, ...rest } = filter;
  const own = Object.values(rest).filter((value) => value !== undefined).length;
  return [...any, ...all, ...(not ? [not] : [])].reduce((sum, inner) => sum + countLeaves(inner), own);
}

/** The nesting depth of a filter's groups; a filter without groups has depth 0. */
function filterDepth(filter: Filter): number {
  const inner = [...(filter.any ?? []), ...(filter.all ?? []), ...(filter.not ? [filter.not] : [])];
  return inner.length === 0 ? 0 : 1 + Math.max(...inner.map(filterDepth));
}

export const FilterSchema: z.ZodType<Filter> = FilterObject.refine(
  (filter) => countLeaves(filter) <= MAX_LEAVES,
  `A filter holds at most ${String(MAX_LEAVES)} conditions.`,
).refine((filter) => filterDepth(filter) <= MAX_DEPTH, `Groups nest at most ${String(MAX_DEPTH)} deep.`);

export const FILTER_KEYS = Object.keys(leaves);
/** Keys that only the mail server can evaluate; identity lists them as `server_defined`. */
export const SERVER_DEFINED_FILTERS = ['body_contains', 'header'] as const;
