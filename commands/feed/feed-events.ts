/**
 * The changes on the mail server, as the worker of the mailbox observed them (`contract.md` 11): stream
 * `mailFeed-<mbx_id>-<yyyymmdd>`, ids and flags only. Written before the same change is applied to the index.
 */
import { z } from 'zod';
import { catalogueOf, defineEvent, type PastFact, readEvent, type StoredEvent } from '../values/event.ts';
import type { ObservedChange } from '../ports/change-feed.ts';
import type { Locators } from '../ports/ports.ts';
import { TOLD, type WebhookEventType } from '../values/webhook-event.ts';

/** More changes than these go into the next event. */
export const MAX_CHANGES = 100;

const FEED_CHANGE_KINDS = ['received', 'updated', 'moved', 'deleted'] as const;

/**
 * `received`: a new message. `updated`: flags changed, a `\Deleted` mark was removed or, without `flags_before`, a message
 * that was in `also_in` before is now in this folder too. `moved`: an own operation removed it from this folder or, with
 * `previous`, moved it here; or it left this folder and is still in `also_in`. `deleted`: it is gone, or marked `\Deleted`.
 */
export const FeedChange = z.object({
  kind: z.enum(FEED_CHANGE_KINDS),
  /** The message's `msg_` id in this folder. */
  locator: z.string(),
  /** The present flags, without `\Recent`; empty when the message is gone. */
  flags: z.array(z.string()),
  /** With `updated`: the earlier flags, with `\Deleted` when that mark was removed; a wait for a match needs both. */
  flags_before: z.array(z.string()).optional(),
  /** An own operation did this. */
  operation_id: z.string().optional(),
  /** Its `msg_` id before an own operation moved it here. */
  previous: z.string().optional(),
  /**
   * Numbers of the other folders that contain it, where one message may be in several. For a message that arrives in a
   * folder and is in no other: the folders it left lately, this one included, because it was reported before.
   */
  also_in: z.array(z.int().min(1)).optional(),
});
export type FeedChange = z.output<typeof FeedChange>;

const ChangeTold = z.object({
  mailbox_id: TOLD.mailboxId,
  message_id: z.string().describe('The message in its folder.'),
  flags: z.array(z.string()).describe('Its flags and keywords now; empty when it is gone.'),
  operation_id: TOLD.operationId.optional(),
});

/** A copy that the gateway itself put into a folder is no received message. */
const toldAs = ({ kind, operation_id }: FeedChange): WebhookEventType =>
  kind === 'received' && operation_id !== undefined ? 'message.updated' : `message.${kind}`;

export const MailboxChangesObserved = defineEvent({
  type: 'MailboxChangesObserved',
  summary: 'Messages of a folder arrived, changed or were removed on the mail server.',
  data: z.object({
    mailbox_id: z.string(),
    /** The folder's number. */
    folder: z.int().min(1),
    uid_validity: z.int(),
    changes: z.array(FeedChange).min(1).max(MAX_CHANGES),
  }),
  webhook: {
    many: true,
    types: {
      'message.received': ChangeTold.omit({ operation_id: true }).describe('A message arrived.'),
      'message.updated': ChangeTold.extend({
        flags_before: z.array(z.string()).optional().describe('Absent when one more folder holds it.'),
      }).describe('Flags of a message changed, or one more folder holds it.'),
      'message.moved': ChangeTold.extend({
        previous_message_id: z.string().optional().describe('Its id in the folder it left.'),
      }).describe('A message left a folder for another one, or came from there.'),
      'message.deleted': ChangeTold.describe('A message was deleted.'),
    },
    notify: ({ data: { mailbox_id, folder, changes } }) =>
      changes.map((change) => ({
        type: toldAs(change),
        mailboxId: mailbox_id,
        folders: [folder, ...(change.also_in ?? [])],
        data: {
          mailbox_id,
          message_id: change.locator,
          flags: change.flags,
          ...(change.flags_before && { flags_before: change.flags_before }),
          ...(change.operation_id !== undefined && { operation_id: change.operation_id }),
          ...(change.previous !== undefined && { previous_message_id: change.previous }),
        },
      })),
  },
});

const FolderIndexed = defineEvent({
  type: 'FolderIndexed',
  summary: 'The initial scan of a folder is complete: the index holds every message in it.',
  data: z.object({
    mailbox_id: z.string(),
    folder: z.int().min(1),
    uid_validity: z.int(),
    count: z.int().min(0),
  }),
  webhook: null,
});

const FolderReset = defineEvent({
  type: 'FolderReset',
  summary: 'The mail server changed the UIDVALIDITY of a folder: old ids are stale.',
  data: z.object({
    mailbox_id: z.string(),
    folder: z.int().min(1),
    uid_validity: z.int(),
    previous_uid_validity: z.int(),
  }),
  webhook: {
    type: 'mailbox.sync_reset',
    data: z.object({ mailbox_id: TOLD.mailboxId }),
    adds: () => ({}),
  },
});

export const feedEvents = [MailboxChangesObserved, FolderIndexed, FolderReset] as const;
export type FeedEvent = (typeof feedEvents)[number];

/** The stream of a mailbox's day (UTC). */
export const feedStream = (mailboxId: string, at: Date): string =>
  `mailFeed-${mailboxId}-${at.toISOString().slice(0, 10).replaceAll('-', '')}`;

/** The changes in a stored event of a mailbox's feed. */
const catalogue = catalogueOf(feedEvents);

/** In order; none for an event about a whole folder. Throws when the event is damaged. */
export function changesOf(stored: StoredEvent, locators: Locators): readonly ObservedChange[] {
  const fact = readEvent(catalogue, stored) as PastFact<FeedEvent> | null;
  if (fact?.type !== 'MailboxChangesObserved') return [];
  const { folder, uid_validity, changes } = fact.data;
  return changes.map(({ kind, locator, flags, flags_before, operation_id, also_in }, index) => {
    const place = locators.openMessage(locator);
    if (place === null) throw new Error(`event ${stored.id} names no message`);
    return {
      position: stored.position,
      index,
      kind,
      folderNumber: folder,
      uidValidity: uid_validity,
      uid: place.uid,
      flags,
      flagsBefore: flags_before ?? null,
      operationId: operation_id ?? null,
      alsoIn: also_in ?? [],
    };
  });
}
