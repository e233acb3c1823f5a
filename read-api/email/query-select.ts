/** `select` of email.query: messages, or the mailbox's other objects (`select.type`). */
import { z } from 'zod';
import type { Context } from '../../commands/kernel/capability.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { FilterSchema } from '../../commands/mail/mail-filter.ts';
import { ORDERS } from '../../commands/mail/query.ts';
import type { Scope } from '../../commands/values/scopes.ts';
import { FolderArgument, MessageIds } from '../../commands/mail/select.ts';
import { DraftItem, DraftStatus, readDrafts } from '../drafts/read-drafts.ts';
import { AttachmentId, Piece, pieceFields, readPiece } from '../messages/get-attachment.ts';
import { Folder, readFolders } from '../messages/list-folders.ts';
import { type Page, pageFields } from '../paging/page.ts';

const SELECT_TYPES = ['messages', 'folders', 'drafts', 'attachment'] as const;
type SelectType = (typeof SELECT_TYPES)[number];

export const QuerySelect = z.strictObject({
  mailbox_id: z.string().max(64).optional(),
  type: z
    .enum(SELECT_TYPES)
    .optional()
    .describe(
      'messages by default; folders; drafts: all, by status, or draft_id; attachment: a piece of attachment_id.',
    ),
  folder: FolderArgument.optional().describe('Role, fld_ id or path; "all"; absent: all but trash and junk.'),
  filter: FilterSchema.optional(),
  order_by: z.enum(ORDERS).optional().describe('received_desc by default.'),
  ...pageFields,
  message_ids: MessageIds.optional().describe('Read these instead of a search.'),
  draft_id: z.string().min(1).max(64).optional(),
  status: DraftStatus.optional(),
  include_content: z.boolean().optional().describe('Its text too.'),
  attachment_id: AttachmentId.optional().describe('From view full.'),
  ...pieceFields,
});
type QuerySelect = z.output<typeof QuerySelect>;

/** Which fields beside `mailbox_id` and `type` each selection takes. */
const FIELDS: Readonly<Record<SelectType, readonly (keyof QuerySelect)[]>> = {
  messages: ['folder', 'filter', 'order_by', 'limit', 'cursor', 'message_ids'],
  folders: ['limit', 'cursor'],
  drafts: ['draft_id', 'status', 'include_content', 'limit', 'cursor'],
  attachment: ['attachment_id', 'offset', 'length'],
};

/** The scope each selection requires; messages require more for bodies. */
export const SCOPE_OF: Readonly<Record<SelectType, Scope>> = {
  messages: 'messages:read',
  folders: 'folders:read',
  drafts: 'drafts:read',
  attachment: 'attachments:read',
};

export const selectTypeOf = ({ type = 'messages' }: Pick<QuerySelect, 'type'>): SelectType => type;

export const OtherItem = z.union([DraftItem, Folder, Piece]);
export interface OtherPage {
  readonly items: z.output<typeof OtherItem>[];
  readonly page: Page;
}

const refuse = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, {
    details: { issues: [{ path, code: 'custom', message }] },
  });

/** Throws `invalid_request` for a field of another selection. `beside`: message fields outside of select. */
export function checkSelectFields(select: QuerySelect, beside: Readonly<Record<string, unknown>>): void {
  const type = selectTypeOf(select);
  const taken: readonly string[] = ['mailbox_id', 'type', ...FIELDS[type]];
  const misplaced = Object.keys(select).find((field) => !taken.includes(field));
  if (misplaced !== undefined) {
    const message = `A select of type ${type} takes ${FIELDS[type].join(', ')}; leave ${misplaced} out or set another type.`;
    throw refuse(`select.${misplaced}`, message);
  }
  const [extra] =
    type === 'messages' ? [] : Object.keys(beside).filter((field) => beside[field] !== undefined);
  if (extra !== undefined) throw refuse(extra, `${extra} is for messages; leave it out with type ${type}.`);
}

/** Folders, drafts or an attachment as a collection. Throws `not_found`, and the mail server's errors. */
export async function readOther(
  context: Context,
  mailboxId: string,
  { type, limit, cursor, draft_id, status, include_content, attachment_id, offset, length }: QuerySelect,
): Promise<OtherPage> {
  const page = { mailbox_id: mailboxId, ...(limit && { limit }), ...(cursor && { cursor }) };
  if (type === 'folders') return await readFolders(context, page);
  if (type === 'drafts') return await readDrafts(context, { ...page, draft_id, status, include_content });
  if (attachment_id === undefined) {
    throw refuse(
      'select.attachment_id',
      'Name the attachment: the ids are in attachments[] of a message in view full.',
    );
  }
  const piece = await readPiece(context, { mailbox_id: mailboxId, attachment_id, offset, length });
  const as_of = context.ports.clock.now().toISOString();
  return { items: [piece], page: { next_cursor: null, limit: 1, as_of } };
}
