/** What the process's own access stream holds: reads of bodies, uploads and refusals (`contract.md` 12). */
import { z } from 'zod';
import type { ReadRecord } from './capability.ts';
import { type About, type Author, envelope } from './decide-and-append.ts';
import { catalogueOf, defineEvent } from '../values/event.ts';
import type { AccessEntry } from '../ports/ports.ts';

export const BodiesRead = defineEvent({
  type: 'BodiesRead',
  summary:
    'Message bodies, raw messages, attachments, drafts or approvals were read; one event per request and mailbox.',
  data: z.object({
    mailbox_id: z.string(),
    message_ids: z.array(z.string()),
    what: z.enum(['text', 'raw', 'attachment', 'approval', 'draft']),
    attachment_ids: z.array(z.string()).optional(),
    approval_ids: z.array(z.string()).optional(),
    draft_ids: z.array(z.string()).optional(),
  }),
});

export const AttachmentUploaded = defineEvent({
  type: 'AttachmentUploaded',
  summary: 'A file was uploaded for a draft; its bytes are in the content store.',
  data: z.object({
    mailbox_id: z.string(),
    draft_id: z.string(),
    upload_id: z.string(),
    size: z.int(),
  }),
});

/** What decided, as `contract.md` 8 has every decision name it. */
const DecidingRule = z.object({ decision: z.string(), rule_id: z.string(), version: z.int() });

const refused = { capability: z.string().nullable(), mailbox_id: z.string().nullable() };

export const RequestRefused = defineEvent({
  type: 'RequestRefused',
  summary: 'A request of a known caller was refused.',
  data: z.object({
    ...refused,
    code: z.string(),
    /** The rule that wants an approval, where that is why. */
    policy: DecidingRule.optional(),
  }),
});

export const PolicyDenied = defineEvent({
  type: 'PolicyDenied',
  publicName: 'policy.denied',
  summary: 'A rule of the policy denied the request of a known caller.',
  data: z.object({ ...refused, code: z.literal('policy_denied'), policy: DecidingRule }),
});

export const RefusalsCounted = defineEvent({
  type: 'RefusalsCounted',
  summary: 'Refusals that are not recorded one by one, counted per minute and source.',
  data: z.object({ minute: z.iso.datetime(), code: z.string(), source: z.string(), count: z.int().min(1) }),
});

export const accessCatalogue = catalogueOf([
  BodiesRead,
  AttachmentUploaded,
  RequestRefused,
  PolicyDenied,
  RefusalsCounted,
]);

export function readEntry(author: Author, now: Date, read: ReadRecord): AccessEntry {
  const [approvalId, ...others] = read.approvalIds ?? [];
  const about = {
    mailbox_id: read.mailboxId,
    // Of several none is the one it is about.
    ...(approvalId === undefined || others.length > 0 ? {} : { approval_id: approvalId }),
  };
  return {
    type: BodiesRead.type,
    data: {
      mailbox_id: read.mailboxId,
      message_ids: read.messageIds,
      what: read.what,
      ...(read.attachmentIds === undefined ? {} : { attachment_ids: read.attachmentIds }),
      ...(read.approvalIds === undefined ? {} : { approval_ids: read.approvalIds }),
      ...(read.draftIds === undefined ? {} : { draft_ids: read.draftIds }),
    },
    metadata: envelope(author, BodiesRead, now, about),
  };
}

export const uploadEntry = (
  author: Author,
  now: Date,
  data: z.input<typeof AttachmentUploaded.data>,
): AccessEntry => ({
  type: AttachmentUploaded.type,
  data,
  metadata: envelope(author, AttachmentUploaded, now, { mailbox_id: data.mailbox_id }),
});

export interface Refusal {
  readonly capability: string | null;
  readonly code: string;
  readonly mailboxId: string | null;
  /** The objects it named. */
  readonly about?: About;
  /** Of the error: a decision of the policy is recorded with its rule and version. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** One line of a refusal; what policy denied is an event of its own. */
export function refusalEntry(author: Author, now: Date, refusal: Refusal): AccessEntry {
  const { capability, code, mailboxId, details = {} } = refusal;
  const policy = DecidingRule.safeParse(details['policy']).data;
  const event = code === 'policy_denied' && policy ? PolicyDenied : RequestRefused;
  const data = { capability, code, mailbox_id: mailboxId, ...(policy && { policy }) };
  return { type: event.type, data, metadata: envelope(author, event, now, refusal.about) };
}
