/**
 * The events of a draft and of its sends: one stream, which is the lock of every send (`contract.md` 7). The
 * content is sealed or in the content store; events hold references.
 */
import { z } from 'zod';
import { DRAFT_KINDS } from '../operations/draft-shape.ts';
import { defineEvent, type Upcaster } from '../values/event.ts';
import { instant, sealedOr, sealedText } from '../values/event-fields.ts';
import { SMTP_PHASES } from '../ports/submission-port.ts';
import { mailboxOf, type PublishedEvent, TOLD } from '../values/webhook-event.ts';

/** An attachment by reference: bytes uploaded here, or a part of a received message. Its name is in the sealed content. */
export const AttachmentReference = z.object({
  /** `upl_…` in the content store, or `att_…` of received mail. */
  id: z.string(),
  size: z.int(),
  /** Only in events from before the sealed envelope held it. */
  sha256: z.string().nullable().optional(),
});
export type AttachmentReference = z.output<typeof AttachmentReference>;

/** One version of a draft. */
export const DraftVersion = z.object({
  version: z.int().min(1),
  /** Addresses, subject and headers as JSON, sealed under the mailbox's key. */
  envelope: sealedText,
  /** Id of the body in the content store. */
  content_id: z.string(),
  /** HMAC-SHA-256 over envelope, body and attachments, salted, so that it reveals nothing of a short text. */
  content_hash: z.string(),
  attachments: z.array(AttachmentReference),
});
export type DraftVersion = z.output<typeof DraftVersion>;

/** In-Reply-To and References (RFC 5322 3.6.4), from the stored message. */
export const Threading = z.object({ in_reply_to: z.string().nullable(), references: z.array(z.string()) });
export type Threading = z.output<typeof Threading>;

/** The Message-ID of a message (RFC 5322 3.6.4), sealed under the mailbox's key. */
const sealedMessageId = sealedOr(z.string());

/** The Message-ID of a message the gateway sends, as version 1 of an event held it. */
const messageIdInClear: Upcaster = ({ message_id: clear, ...data }) => ({
  ...data,
  rfc_message_id: { clear },
});

const threadingInClear: Upcaster = ({ in_reply_to, references, ...data }) => {
  const isNone = in_reply_to === null && Array.isArray(references) && references.length === 0;
  return { ...data, threading: isNone ? null : { clear: { in_reply_to, references } } };
};

/** The id that the request's claim chose (`RequestClaimed.target_id`): a repeat of the request finds its change by it. */
const claimId = z.string().optional();

/** What webhooks say of every event of a draft. */
const DraftTold = z.object({ draft_id: TOLD.draftId, mailbox_id: TOLD.mailboxId });
const draftTold = (event: PublishedEvent<unknown>): z.input<typeof DraftTold> => ({
  draft_id: event.subject,
  mailbox_id: mailboxOf(event),
});
const VersionTold = DraftTold.extend({ version: z.int().describe('The version of the draft.') });

const sourceMessageId = z.string().nullable().describe('The message it answers or forwards.');

export const DraftStarted = defineEvent({
  type: 'DraftStarted',
  summary: 'A draft was begun: new, or as an answer to or a forward of a message.',
  data: z.object({
    mailbox_id: z.string(),
    kind: z.enum(DRAFT_KINDS),
    source_message_id: sourceMessageId,
    /** JSON of `Threading`, sealed under the mailbox's key; null when it refers to no message. */
    threading: sealedOr(Threading).nullable(),
    draft: DraftVersion,
  }),
  upcasters: [threadingInClear],
  webhook: {
    type: 'draft.created',
    data: VersionTold.extend({ kind: z.enum(DRAFT_KINDS), source_message_id: sourceMessageId }),
    adds: (event) => ({ ...draftTold(event), version: event.data.draft.version }),
  },
});

export const DraftEdited = defineEvent({
  type: 'DraftEdited',
  summary: 'A draft was changed; the version before it stays in the stream.',
  data: z.object({ draft: DraftVersion, claim_id: claimId }),
  // The hashes of the attachments moved into the envelope.
  upcasters: [(data) => data],
  webhook: {
    type: 'draft.updated',
    data: VersionTold.describe('A draft was changed.'),
    adds: (event) => ({ ...draftTold(event), version: event.data.draft.version }),
  },
});

const discardReason = z.enum(['caller', 'mailbox_removed']).describe('A caller, or its mailbox was removed.');

export const DraftDiscarded = defineEvent({
  type: 'DraftDiscarded',
  summary: 'A draft was thrown away unsent; a send that waited for its next attempt ends with it.',
  data: z.object({ reason: discardReason, claim_id: claimId }),
  webhook: { type: 'draft.discarded', data: DraftTold.extend({ reason: discardReason }), adds: draftTold },
});

export const DraftFrozen = defineEvent({
  type: 'DraftFrozen',
  summary: 'The exact message of one send was fixed: its bytes without Date, its Message-ID, its recipients.',
  data: z.object({
    operation_id: z.string(),
    version: z.int(),
    content_hash: z.string(),
    rfc_message_id: sealedMessageId,
    /** Id of the MIME message in the content store. */
    mime_id: z.string(),
    mime_sha256: z.string(),
    mime_size: z.int(),
    /** SMTP envelope, sealed under the mailbox's key: JSON `{from, to[]}`. */
    smtp_envelope: sealedText,
    /**
     * An address, Reply-To included, has a non-ASCII local part: only a server with SMTPUTF8 (RFC 6531)
     * accepts it.
     */
    needs_smtputf8: z.boolean(),
    recipient_count: z.int(),
    frozen_at: instant,
    /** The approval of the message; absent for a send that needs none. */
    approval_id: z.string().optional(),
  }),
  upcasters: [messageIdInClear],
  webhook: null,
});

/** Why a draft left review without an edit: the end of its approval, or no approval was requested. */
const RELEASES = [
  'rejected',
  'cancelled',
  'expired',
  'superseded',
  'invalidated',
  'never_requested',
] as const;
export type Release = (typeof RELEASES)[number];

export const DraftReleased = defineEvent({
  type: 'DraftReleased',
  summary: 'The approval of a draft ended and nothing was sent: the draft is open again.',
  data: z.object({ operation_id: z.string(), why: z.enum(RELEASES) }),
  webhook: null,
});

/** A recipient that the server refused; address and response are sealed under the mailbox's key. */
export const RejectedRecipient = z.object({
  address: sealedText,
  smtp_status: z.int(),
  response: sealedText,
});
export type RejectedRecipient = z.output<typeof RejectedRecipient>;

export const SendScheduled = defineEvent({
  type: 'SendScheduled',
  summary: 'The frozen message is held back until the time named; until then the draft can be discarded.',
  data: z.object({ operation_id: z.string(), commit_at: instant }),
  webhook: null,
});

export const SendStarted = defineEvent({
  type: 'SendStarted',
  summary: 'An attempt to send the frozen message is about to be made: the intent.',
  data: z.object({
    operation_id: z.string(),
    content_hash: z.string(),
    /** Counts from 1 per frozen message. */
    attempt: z.int().min(1),
    /** The commit of the approval that the attempt is part of, counted from 1; absent without an approval. */
    commit: z.int().min(1).optional(),
    run_id: z.string(),
    /** The `Date` header of this attempt; not part of the hash. */
    date: instant,
  }),
  webhook: null,
});

export const SendDataBegun = defineEvent({
  type: 'SendDataBegun',
  summary:
    'The server took the envelope; the message goes out next. Without an outcome it may have been sent.',
  data: z.object({ operation_id: z.string(), attempt: z.int(), rejected: z.array(RejectedRecipient) }),
  webhook: null,
});

export const SendPostponed = defineEvent({
  type: 'SendPostponed',
  summary: 'An attempt certainly sent nothing and may succeed later: the same bytes are retried.',
  data: z.object({
    operation_id: z.string(),
    attempt: z.int(),
    phase: z.enum(SMTP_PHASES),
    code: z.string(),
    smtp_status: z.int().nullable(),
    response: sealedText.nullable(),
    retry_at: instant,
    /** The approval that commits it again; absent without an approval. */
    approval_id: z.string().optional(),
  }),
  webhook: null,
});

/** The source of an outcome: the server's answer, a Sent copy that was found, the gateway, or a person's decision. */
const sentKnownBy = z.enum(['server', 'sent_folder', 'person']);
const failureKnownBy = z.enum(['server', 'gateway', 'person']);

/** What webhooks say of every end of a send. */
const SendTold = DraftTold.extend({ operation_id: TOLD.operationId });
const RejectedTold = z.int().describe('How many recipients the mail server refused.');

export const DraftSent = defineEvent({
  type: 'DraftSent',
  summary: 'The mail server took the message for at least one recipient.',
  data: z.object({
    operation_id: z.string(),
    /** The Message-ID that the server gave it instead; null where it named none, and always in version 1. */
    rfc_message_id: sealedMessageId.nullable(),
    attempt: z.int(),
    response: sealedText.nullable(),
    rejected: z.array(RejectedRecipient),
    known_by: sentKnownBy,
  }),
  upcasters: [messageIdInClear],
  webhook: {
    type: 'draft.sent',
    data: SendTold.extend({ rejected_recipients: RejectedTold, known_by: sentKnownBy }),
    adds: (event) => ({ ...draftTold(event), rejected_recipients: event.data.rejected.length }),
  },
});

export const DraftSendFailed = defineEvent({
  type: 'DraftSendFailed',
  summary: 'The message was certainly not sent and will not be retried; the draft can be edited.',
  data: z.object({
    operation_id: z.string(),
    attempt: z.int(),
    phase: z.enum(SMTP_PHASES),
    code: z.string(),
    smtp_status: z.int().nullable(),
    response: sealedText.nullable(),
    rejected: z.array(RejectedRecipient),
    known_by: failureKnownBy,
  }),
  webhook: {
    type: 'draft.send_failed',
    data: SendTold.extend({
      code: z.string().describe('An error code of the gateway.'),
      phase: z.enum(SMTP_PHASES).describe('How far it got.'),
      smtp_status: z.int().nullable().describe('What the mail server answered.'),
      rejected_recipients: RejectedTold,
      known_by: failureKnownBy,
    }),
    adds: (event) => ({ ...draftTold(event), rejected_recipients: event.data.rejected.length }),
  },
});

export const DraftSendUnknown = defineEvent({
  type: 'DraftSendUnknown',
  summary:
    'It is unknown whether the message was sent; the gateway looks for it in Sent and never sends it again blindly.',
  data: z.object({ operation_id: z.string(), attempt: z.int() }),
  webhook: { type: 'draft.send_unknown', data: SendTold, adds: draftTold },
});

export const SentCopyFiled = defineEvent({
  type: 'SentCopyFiled',
  summary:
    'A copy is in the Sent folder: stored there by the gateway, or found there because the server files it.',
  data: z.object({
    operation_id: z.string(),
    filed_by: z.enum(['gateway', 'server']),
    /** Null when the server does not report where it put the copy. */
    sent_message_id: z.string().nullable(),
  }),
  webhook: null,
});

export const draftEvents = [
  DraftStarted,
  DraftEdited,
  DraftDiscarded,
  DraftFrozen,
  DraftReleased,
  SendScheduled,
  SendStarted,
  SendDataBegun,
  SendPostponed,
  DraftSent,
  DraftSendFailed,
  DraftSendUnknown,
  SentCopyFiled,
] as const;
