/** The input and answer of a wait (`contract.md` 5 and 17). */
import { z } from 'zod';

export const MAX_WAIT_SECONDS = 50;
export const DEFAULT_WAIT_SECONDS = 30;

export const waitFields = {
  cursor: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('`cursor` of the last wait or `page.as_of` of a query.'),
  timeout_seconds: z
    .number()
    .min(0)
    .max(MAX_WAIT_SECONDS)
    .optional()
    .describe(`The longest wait; ${String(DEFAULT_WAIT_SECONDS)} by default.`),
};

export interface WaitFields {
  readonly cursor?: string | undefined;
  readonly timeout_seconds?: number | undefined;
}

/** The answer of a wait for items of this shape. */
export const awaitReplyOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    status: z
      .enum(['matched', 'timed_out'])
      .describe('timed_out is a normal answer: wait again with the cursor.'),
    items: z.array(item),
    cursor: z.string().describe('Where the next wait continues.'),
  });

export interface AwaitReply<Item> {
  status: 'matched' | 'timed_out';
  items: Item[];
  cursor: string;
}
