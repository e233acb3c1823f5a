/** A draft as callers see it (`contract.md` 7), the same in its own routes and in every operation on it. */
import { z } from 'zod';
import { REPORT_ACTIONS } from '../mail/reported-recipient.ts';

/** `contract.md` 10. */
export const DRAFT_STATUSES = [
  'open', 'in_review', 'sending', 'sent', 'send_failed', 'send_unknown', 'discarded',
] as const; // prettier-ignore
export type DraftStatus = (typeof DRAFT_STATUSES)[number];

export const DRAFT_KINDS = ['new', 'reply', 'reply_all', 'forward'] as const;
export type DraftKind = (typeof DRAFT_KINDS)[number];

/** A received address that a reply cannot go to, and why. */
export const SkippedRecipient = z.object({ address: z.string(), reason: z.string() });
export type SkippedRecipient = z.output<typeof SkippedRecipient>;

const Address = z.object({ name: z.string().nullable(), email: z.string() });
const addresses = z.array(Address).nullable();

export const Attachment = z.object({
  id: z.string(),
  filename: z.string().nullable(),
  content_type: z.string(),
  size: z.int(),
  sha256: z.string().nullable(),
  inline: z.boolean(),
  content_id: z.string().nullable(),
});
export type Attachment = z.output<typeof Attachment>;

export const Draft = z.object({
  id: z.string(),
  mailbox_id: z.string(),
  status: z.enum(DRAFT_STATUSES),
  kind: z.enum(DRAFT_KINDS),
  source_message_id: z.string().nullable(),
  from: Address.nullable().describe('Null = the address of the mailbox.'),
  to: addresses,
  cc: addresses,
  bcc: addresses,
  reply_to: addresses,
  subject: z.string().nullable(),
  headers: z.record(z.string(), z.string()).nullable(),
  attachments: z.array(Attachment),
  in_reply_to: z.string().nullable(),
  content_hash: z.string(),
  version: z.int().describe('Of its content; counts its edits.'),
  revision: z
    .int()
    .describe('Counts every change, of its status too. The ETag is "<version>.<revision>", as in "2.5".'),
  approval_id: z.string().nullable().describe('The approval that is open, or by which it is sent or was.'),
  message_id: z
    .string()
    .nullable()
    .describe('Message-ID it was or will be sent with; null until it is fixed.'),
  retry_at: z.string().optional().describe('When it is tried again.'),
  commit_at: z
    .string()
    .optional()
    .describe('While sending: it is held back until then and can be discarded.'),
  rejected: z
    .array(
      z.object({ address: z.string().nullable(), smtp_status: z.int(), response: z.string().nullable() }),
    )
    .optional(),
  skipped_recipients: z
    .array(SkippedRecipient)
    .optional()
    .describe('Of a reply: addresses of the message that it does not go to.'),
  delivery_reports: z
    .array(
      z.object({
        message_id: z.string().describe('The report, where it was found.'),
        recipient: z.string().nullable(),
        action: z.enum(REPORT_ACTIONS),
        status: z.string().nullable().describe('Enhanced status code, as in "5.1.1".'),
        diagnostic: z.string().nullable().describe('What a mail server said.'),
        remote_mta: z.string().nullable().describe('The mail server that said it.'),
        at: z.string(),
      }),
    )
    .optional()
    .describe('Of a sent draft: what mail servers reported later, oldest first.'),
  created_by: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type Draft = z.output<typeof Draft>;

/** Changes whenever the answer changes: the version alone stays while a draft is reviewed and sent. */
export const draftETag = ({ version, revision }: Pick<Draft, 'version' | 'revision'>): string =>
  `${String(version)}.${String(revision)}`;

export const DraftContent = z.object({
  text: z.string().nullable(),
  html: z.string().nullable(),
  markdown: z.string().nullable().describe('What was written, when it was Markdown.'),
  attachments: z.array(Attachment),
});
export type DraftContent = z.output<typeof DraftContent>;
