/** Input fields that name messages: a selection, a cardinality, ids. */
import { z } from 'zod';
import { FilterSchema } from './mail-filter.ts';

export const MailboxIdParameter = z
  .string()
  .min(1)
  .max(64)
  .describe('The mailbox, as get_identity names it.');
export const MessageId = z.string().min(1).max(80);
/**
 * Every message of an operation is one item of its event; 500 keeps the event far below the store's limit.
 */
export const MAX_MESSAGES = 500;
export const MessageIds = z.array(MessageId).min(1).max(MAX_MESSAGES).describe('As a query returned them.');

export const FolderArgument = z
  .string()
  .min(1)
  .max(1_000)
  .describe('Role (inbox, archive, trash, …), fld_ id or exact path.');

export const Cardinality = z
  .strictObject({ min: z.int().min(0).optional(), max: z.int().min(0).max(MAX_MESSAGES).optional() })
  .refine(({ min = 0, max = MAX_MESSAGES }) => min <= max, {
    path: ['min'],
    message: 'min is more than max: no selection fits.',
  })
  .describe('Allowed number of messages; outside of it nothing runs.');
export type Cardinality = z.output<typeof Cardinality>;

/** The target of an action: ids, or all matches of a filter. */
export const ActSelect = z.strictObject({
  mailbox_id: z.string().max(64).optional(),
  message_ids: MessageIds.optional(),
  folder: FolderArgument.optional(),
  filter: FilterSchema.optional(),
});
export type ActSelect = z.output<typeof ActSelect>;
