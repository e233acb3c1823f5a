/** The operations of email.act as callers write them, and the scopes each needs (`contract.md` 6 and 17). */
import { looksIntoText } from '../mail/matches.ts';
import { z } from 'zod';
import type { Scope } from '../values/scopes.ts';
import { ActSelect } from '../mail/select.ts';
import {
  atMostOneBody,
  DraftId,
  exactlyOneBody,
  ExpectedVersion,
  NewDraftFields,
  ONE_BODY,
  PatchFields,
  ReplyFields,
} from '../drafts/draft-input.ts';
import { scopesForAttachments, scopesToReply, scopesToStart } from '../drafts/start-draft.ts';
import { Action, scopesOf } from '../messages/actions.ts';

const MessageActions = z.strictObject({
  type: z.literal('message_actions'),
  select: ActSelect.describe('message_ids; or folder and filter: all matches, with cardinality.max.'),
  actions: z.array(Action).min(1).max(8).describe('In order; one that moves only as the last.'),
});
export type MessageActions = z.output<typeof MessageActions>;

const DraftCreate = z.strictObject({
  type: z.literal('draft_create'),
  draft: z.strictObject(NewDraftFields).refine(atMostOneBody, ONE_BODY),
});
const DraftReply = z
  .strictObject({ type: z.literal('draft_reply'), ...ReplyFields })
  .refine(exactlyOneBody, ONE_BODY);
const DraftEdit = z.strictObject({
  type: z.literal('draft_edit'),
  draft_id: DraftId,
  expected_version: ExpectedVersion,
  patch: z.strictObject(PatchFields).refine(atMostOneBody, ONE_BODY).describe('Absent = keep, null = clear.'),
});
const DraftSend = z.strictObject({
  type: z.literal('draft_send'),
  draft_id: DraftId,
  expected_version: ExpectedVersion,
});
const DraftDiscard = z.strictObject({
  type: z.literal('draft_discard'),
  draft_id: DraftId,
  expected_version: ExpectedVersion,
});
type DraftSend = z.output<typeof DraftSend>;

export const ActOperation = z.discriminatedUnion('type', [
  MessageActions,
  DraftCreate,
  DraftReply,
  DraftEdit,
  DraftSend,
  DraftDiscard,
]);
export type ActOperation = z.output<typeof ActOperation>;
/** Operations that only write a draft. */
export type DraftWriting = Exclude<ActOperation, MessageActions | DraftSend>;

/** All of these are required. */
export function scopesToAct(operation: ActOperation): readonly Scope[] {
  switch (operation.type) {
    case 'message_actions':
      // A filter reveals what is in a folder, so it requires the right to read.
      return [
        ...scopesOf(operation.actions),
        ...(operation.select.message_ids === undefined ? (['messages:read'] as const) : []),
        ...(looksIntoText(operation.select.filter) ? (['messages:body'] as const) : []),
      ];
    case 'draft_create':
      return scopesToStart(operation.draft);
    case 'draft_reply':
      return scopesToReply(operation);
    case 'draft_edit':
      return ['drafts:write', ...scopesForAttachments(operation.patch.attachments?.add)];
    case 'draft_send':
      return ['drafts:send'];
    case 'draft_discard':
      return ['drafts:discard'];
  }
}
