/** A draft as callers see it (`contract.md` 7). */
import { z } from 'zod';
import type { PersonalData } from '../kernel/ports.ts';
import { checkOf, DRAFT_STATUSES, type DraftState, rfcMessageIdOf } from './draft.ts';
import { openJson, openText } from '../kernel/sealed-json.ts';
import { DRAFT_KINDS, Threading } from './draft-events.ts';
import { attachmentsOf, type DraftAttachment, openEnvelope } from './draft-envelope.ts';
import { SkippedRecipient } from './mail-address.ts';

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
  version: z.int().describe('Of what it says; counts its edits.'),
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
    .describe('Of an answer: addresses of the message that it does not go to.'),
  created_by: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type Draft = z.output<typeof Draft>;

/** Another one whenever the answer is another one: the version alone stays while a draft is reviewed and sent. */
export const draftETag = ({ version, revision }: Pick<Draft, 'version' | 'revision'>): string =>
  `${String(version)}.${String(revision)}`;

export const DraftContent = z.object({
  text: z.string().nullable(),
  html: z.string().nullable(),
  markdown: z.string().nullable().describe('What was written, when it was Markdown.'),
  attachments: z.array(Attachment),
});
export type DraftContent = z.output<typeof DraftContent>;

export const attachmentPayload = ({ content_id, id, ...shown }: DraftAttachment): Attachment => ({
  id,
  filename: shown.filename,
  content_type: shown.content_type,
  size: shown.size,
  sha256: shown.sha256,
  inline: content_id !== null,
  content_id,
});

const ERASED = { from: null, to: null, cc: null, bcc: null, reply_to: null, subject: null, headers: null };

/** Personal fields are null once the mailbox's key is erased. `state` is of a draft that was started. */
export async function draftPayload(
  { personal }: { readonly personal: PersonalData },
  id: string,
  state: DraftState,
): Promise<Draft> {
  const { current, createdAt, updatedAt } = state;
  if (current === null || createdAt === null) throw new Error(`draft ${id} was never started`);
  const envelope = await openEnvelope(personal, current);
  const { from, to, cc, bcc, reply_to, subject, headers } = envelope ?? ERASED;
  const rejected = await rejectedOf(personal, state);
  const answered = await openJson(personal, state.threading, Threading);
  return {
    id,
    mailbox_id: state.mailboxId ?? '',
    status: state.status,
    kind: state.kind,
    source_message_id: state.sourceMessageId,
    from,
    to,
    cc,
    bcc,
    reply_to,
    subject,
    headers,
    attachments: attachmentsOf(current, envelope).map(attachmentPayload),
    in_reply_to: answered?.in_reply_to ?? null,
    content_hash: current.content_hash,
    version: current.version,
    revision: state.revision,
    approval_id: approvalOf(state),
    message_id: await openText(personal, rfcMessageIdOf(state)),
    ...retryOf(state),
    ...(rejected.length > 0 ? { rejected } : {}),
    ...(envelope?.skipped_recipients ? { skipped_recipients: envelope.skipped_recipients } : {}),
    created_by: state.createdBy ?? '',
    created_at: createdAt,
    updated_at: updatedAt ?? createdAt,
  };
}

const SENT_BY: ReadonlySet<DraftState['status']> = new Set(['sending', 'sent', 'send_unknown']);

const approvalOf = (state: DraftState): string | null =>
  SENT_BY.has(state.status) ? (state.send?.frozen.approval_id ?? null) : checkOf(state);

/** Of a draft that was discarded while it waited no attempt follows. */
const retryOf = ({ status, send }: DraftState): Pick<Draft, 'retry_at' | 'commit_at'> => {
  if (status !== 'sending' && status !== 'in_review') return {};
  const { retryAt = null, commitAt = null } = send ?? {};
  return { ...(retryAt && { retry_at: retryAt }), ...(commitAt && { commit_at: commitAt }) };
};

const rejectedOf = (
  personal: PersonalData,
  { outcome }: DraftState,
): Promise<NonNullable<Draft['rejected']>> =>
  Promise.all(
    (outcome?.rejected ?? []).map(async ({ address, smtp_status, response }) => ({
      address: await personal.open(address),
      smtp_status,
      response: await personal.open(response),
    })),
  );
