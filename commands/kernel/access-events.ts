/** What the process's own access stream holds: reads of bodies and refusals (`contract.md` 12). */
import { z } from 'zod';
import type { ReadRecord } from './capability.ts';
import { type Author, envelope } from './decide-and-append.ts';
import { catalogueOf, defineEvent } from './event.ts';
import type { AccessEntry } from './ports.ts';

export const BodiesRead = defineEvent({
  type: 'BodiesRead',
  summary: 'Message bodies, raw messages or attachments were handed out; one event per request.',
  data: z.object({
    mailbox_id: z.string(),
    message_ids: z.array(z.string()),
    what: z.enum(['text', 'raw', 'attachment']),
    attachment_ids: z.array(z.string()).optional(),
  }),
});

export const RequestRefused = defineEvent({
  type: 'RequestRefused',
  summary: 'A request of a known caller was refused.',
  data: z.object({ capability: z.string().nullable(), code: z.string(), mailbox_id: z.string().nullable() }),
});

export const RefusalsCounted = defineEvent({
  type: 'RefusalsCounted',
  summary: 'Refusals that are not recorded one by one, counted per minute and source.',
  data: z.object({ minute: z.iso.datetime(), code: z.string(), source: z.string(), count: z.int().min(1) }),
});

export const accessCatalogue = catalogueOf([BodiesRead, RequestRefused, RefusalsCounted]);

export const readEntry = (author: Author, now: Date, read: ReadRecord): AccessEntry => ({
  type: BodiesRead.type,
  data: {
    mailbox_id: read.mailboxId,
    message_ids: read.messageIds,
    what: read.what,
    ...(read.attachmentIds === undefined ? {} : { attachment_ids: read.attachmentIds }),
  },
  metadata: envelope(author, BodiesRead, now),
});

export const refusalEntry = (
  author: Author,
  now: Date,
  refusal: { capability: string | null; code: string; mailboxId: string | null },
): AccessEntry => ({
  type: RequestRefused.type,
  data: { capability: refusal.capability, code: refusal.code, mailbox_id: refusal.mailboxId },
  metadata: envelope(author, RequestRefused, now),
});
