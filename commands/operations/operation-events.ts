/** A requested change of a mailbox in two appends: intent before the effect, outcome after it. */
import { z } from 'zod';
import { defineEvent, type Upcaster } from '../values/event.ts';
import { instant, sealedOr, sealedText } from '../values/event-fields.ts';
import { mailboxOf, TOLD } from '../values/webhook-event.ts';
import { approvalEvents } from './approval-events.ts';

export const ACTION_TYPES = [
  'move',
  'copy',
  'trash',
  'spam',
  'not_spam',
  'archive',
  'set_flags',
  'expunge',
] as const;
export type ActionType = (typeof ACTION_TYPES)[number];
export const OUTCOMES = ['done', 'failed', 'unknown', 'skipped'] as const;

/** One resolved action: its destination, the flags it changes, and the state of the target before. */
export const ActionStep = z.object({
  action: z.enum(ACTION_TYPES),
  folder: z.int().optional(),
  target_uid_validity: z.int().optional(),
  /** UIDNEXT of the target before the effect: a reconciler treats messages from there on as new. */
  target_uid_next: z.int().optional(),
  flags_add: z.array(z.string()).optional(),
  flags_remove: z.array(z.string()).optional(),
});
export type ActionStep = z.output<typeof ActionStep>;

export const StoredTarget = z.object({ message_id: z.string(), stale: z.boolean() });
export type StoredTarget = z.output<typeof StoredTarget>;

export interface OperationTarget extends StoredTarget {
  /** RFC 5322 Message-ID, by which a moved message is found again. */
  readonly rfc_message_id: string | null;
}

/** The Message-IDs of the targets, in their order. */
export const RfcMessageIds = z.array(z.string().nullable());
export type RfcMessageIds = z.output<typeof RfcMessageIds>;

interface ClearTargets {
  readonly targets: readonly OperationTarget[];
}

/** Version 1 held the Message-ID of each target beside it, in clear. */
const targetsInClear: Upcaster = (data) => {
  const { targets } = data as unknown as ClearTargets;
  return {
    ...data,
    targets: targets.map(({ message_id, stale }) => ({ message_id, stale })),
    rfc_message_ids: targets.length === 0 ? null : { clear: targets.map((target) => target.rfc_message_id) },
  };
};

export const ItemResult = z.object({
  message_id: z.string(),
  /** Index of the action in the operation. */
  step: z.int(),
  action: z.enum(ACTION_TYPES),
  outcome: z.enum(OUTCOMES),
  new_message_id: z.string().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});
export type ItemResult = z.output<typeof ItemResult>;

export const Summary = z.object({ done: z.int(), failed: z.int(), unknown: z.int() });
export type Summary = z.output<typeof Summary>;

export const OperationSubmitted = defineEvent({
  type: 'OperationSubmitted',
  summary: 'A change of a mailbox was requested; its selection is resolved.',
  data: z.object({
    mailbox_id: z.string(),
    capability: z.string(),
    fingerprint: z.string(),
    mode: z.enum(['execute', 'execute_or_request_approval', 'request_approval', 'prepare']),
    reason: sealedText.nullable(),
    run_id: z.string(),
    targets: z.array(StoredTarget),
    /** JSON of `RfcMessageIds`, sealed under the mailbox's key; null without targets. */
    rfc_message_ids: sealedOr(RfcMessageIds).nullable(),
  }),
  upcasters: [targetsInClear],
  webhook: null,
});

export const OperationDecided = defineEvent({
  type: 'OperationDecided',
  summary: 'Policy decided about an operation; rule and version are named.',
  data: z.object({
    decision: z.enum(['allow', 'require', 'deny']),
    rule_id: z.string(),
    policy_version: z.int(),
  }),
  webhook: null,
});

const ActionsIntended = defineEvent({
  type: 'ActionsIntended',
  summary: 'The actions are about to run; without an outcome they are reconciled, never repeated.',
  data: z.object({ steps: z.array(ActionStep) }),
  webhook: null,
});

export const SendIntended = defineEvent({
  type: 'SendIntended',
  summary: 'A draft is about to be sent in the given version; its outcome is in the stream of the draft.',
  data: z.object({
    mailbox_id: z.string(),
    draft_id: z.string(),
    draft_version: z.int(),
    /** Only for a send without an approval that policy holds back: until when. */
    commit_at: instant.optional(),
  }),
  webhook: null,
});

/** The outcome of a send. An error has a code of the closed table. */
export const SendOutcome = z.object({
  outcome: z.enum(['done', 'failed', 'unknown']),
  error: z.object({ code: z.string(), message: z.string(), smtp_status: z.int().nullable() }).nullable(),
});
export type SendOutcome = z.output<typeof SendOutcome>;

const SendOutcomeRecorded = defineEvent({
  type: 'SendOutcomeRecorded',
  summary: 'The outcome of a send, as recorded in the stream of its draft.',
  data: SendOutcome,
  webhook: null,
});

const SendReconciled = defineEvent({
  type: 'SendReconciled',
  summary: 'An unknown send was settled: a copy was found, or a person resolved it.',
  data: SendOutcome,
  webhook: null,
});

export const OperationResolved = defineEvent({
  type: 'OperationResolved',
  summary: 'A person resolved an unknown outcome; the outcome that follows is based on it.',
  data: z.object({ outcome: z.enum(['done', 'not_done']), reason: sealedText }),
  webhook: null,
});

const ActionOutcomesRecorded = defineEvent({
  type: 'ActionOutcomesRecorded',
  summary: 'What each action did to each message.',
  data: z.object({ results: z.array(ItemResult) }),
  webhook: null,
});

const ActionsReconciled = defineEvent({
  type: 'ActionsReconciled',
  summary: 'Unknown outcomes were settled by reading source and target, or by a person.',
  data: z.object({ results: z.array(ItemResult) }),
  webhook: null,
});

const OperationCompleted = defineEvent({
  type: 'OperationCompleted',
  summary: 'Every item of an operation is done, failed, skipped or unknown.',
  data: z.object({ summary: Summary }),
  webhook: {
    type: 'operation.completed',
    data: z.object({
      operation_id: z.string().describe('The operation.'),
      mailbox_id: TOLD.mailboxId,
      summary: Summary.describe('How many of its items are done, failed or unknown.'),
    }),
    adds: (event) => ({ operation_id: event.subject, mailbox_id: mailboxOf(event) }),
  },
});

export const operationEvents = [
  OperationSubmitted,
  OperationDecided,
  ActionsIntended,
  SendIntended,
  SendOutcomeRecorded,
  SendReconciled,
  OperationResolved,
  ActionOutcomesRecorded,
  ActionsReconciled,
  OperationCompleted,
  ...approvalEvents,
] as const;
export type OperationEvent = (typeof operationEvents)[number];
