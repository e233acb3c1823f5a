/** The events of a send, in the draft's stream: that stream is the lock of every send (`contract.md` 7). */
import { z } from 'zod';
import { defineEvent } from '../values/event.ts';
import { instant, sealedText } from '../values/event-fields.ts';
import { SMTP_PHASES } from '../ports/submission-port.ts';
import { messageIdInClear, sealedMessageId } from './draft-events.ts';

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
});

export const SendDataBegun = defineEvent({
  type: 'SendDataBegun',
  summary:
    'The server took the envelope; the message goes out next. Without an outcome it may have been sent.',
  data: z.object({ operation_id: z.string(), attempt: z.int(), rejected: z.array(RejectedRecipient) }),
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
});

export const DraftSent = defineEvent({
  type: 'DraftSent',
  publicName: 'draft.sent',
  summary: 'The mail server took the message for at least one recipient.',
  data: z.object({
    operation_id: z.string(),
    /**
     * The Message-ID that the server gave the message instead; null where the server named none, and always
     * in version 1.
     */
    rfc_message_id: sealedMessageId.nullable(),
    attempt: z.int(),
    response: sealedText.nullable(),
    rejected: z.array(RejectedRecipient),
    /** The source of the outcome: the server's answer, a Sent copy that was found, or a person's decision. */
    known_by: z.enum(['server', 'sent_folder', 'person']),
  }),
  upcasters: [messageIdInClear],
});

export const DraftSendFailed = defineEvent({
  type: 'DraftSendFailed',
  publicName: 'draft.send_failed',
  summary: 'The message was certainly not sent and will not be retried; the draft can be edited.',
  data: z.object({
    operation_id: z.string(),
    attempt: z.int(),
    phase: z.enum(SMTP_PHASES),
    code: z.string(),
    smtp_status: z.int().nullable(),
    response: sealedText.nullable(),
    rejected: z.array(RejectedRecipient),
    known_by: z.enum(['server', 'gateway', 'person']),
  }),
});

export const DraftSendUnknown = defineEvent({
  type: 'DraftSendUnknown',
  publicName: 'draft.send_unknown',
  summary:
    'It is unknown whether the message was sent; the gateway looks for it in Sent and never sends it again blindly.',
  data: z.object({ operation_id: z.string(), attempt: z.int() }),
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
});

export const sendEvents = [
  SendScheduled,
  SendStarted,
  SendDataBegun,
  SendPostponed,
  DraftSent,
  DraftSendFailed,
  DraftSendUnknown,
  SentCopyFiled,
] as const;
