/** The approval of an operation, in the operation's own stream: the request, the votes and the commit. */
import { z } from 'zod';
import { ACTOR_TYPES, defineEvent } from '../values/event.ts';
import { instant, sealedText } from '../values/event-fields.ts';
import { withPrefix } from '../values/ids.ts';
import { APPROVER_ROLES } from '../values/policy-document.ts';
import { MOST_TOLD, WARNING_CODES } from './warning-codes.ts';
import { mailboxOf, type PublishedEvent, TOLD } from '../values/webhook-event.ts';

/** How an approval is decided and run: the policy at the time of the request, defaults filled in. */
export const ApprovalTerms = z.object({
  /** Yes votes required; 0 where policy allowed it and no person is asked. */
  quorum: z.int().min(0),
  /** The minimum role of an approver. */
  approver_role: z.enum(APPROVER_ROLES),
  /** Four eyes: a person may not approve what was requested in their name. */
  exclude_owner: z.boolean(),
  /** Seconds from the request to the deadline of the decision. */
  decision_ttl: z.int(),
  /** Seconds from the grant to the deadline of the first commit. */
  commit_ttl: z.int(),
  /** The gateway commits automatically when the quorum is reached. */
  auto_commit: z.boolean(),
  /** Seconds between a commit and its effect, in which it can be cancelled. */
  undo_seconds: z.int(),
});
export type ApprovalTerms = z.output<typeof ApprovalTerms>;

/** What webhooks say of every event of an approval. */
export const ApprovalTold = z.object({
  approval_id: z.string().describe('The approval.'),
  operation_id: z.string().describe('The operation that waits for it.'),
  mailbox_id: TOLD.mailboxId,
});
const approvalTold = (event: PublishedEvent<unknown>): z.input<typeof ApprovalTold> => ({
  approval_id: withPrefix('chk', event.subject),
  operation_id: event.subject,
  mailbox_id: mailboxOf(event),
});

const ApprovalRequested = defineEvent({
  type: 'ApprovalRequested',
  summary: 'An operation waits: a manifest fixes what would happen, and nothing else can run.',
  data: z.object({
    /** A single action's type, `message_actions` for several, `send_draft` for a send. */
    action: z.string(),
    draft_id: z.string().nullable(),
    /** SHA-256 of the manifest, in hex. */
    content_hash: z.string(),
    /** The manifest (RFC 8785), sealed under the mailbox's key. */
    manifest: sealedText,
    /** When it expires unless it was decided. */
    expires_at: instant,
    terms: ApprovalTerms,
    /** How many messages the requester meant; null for a send. */
    cardinality: z.object({ min: z.int(), max: z.int() }).nullable(),
    /** The earlier approval of the same draft that this one replaces. */
    supersedes: z.string().nullable(),
    /** The warnings at the time of the request (`approval-warnings.ts`), sealed under the mailbox's key. */
    warnings: sealedText.optional(),
    /** What the worst of them are about. */
    warning_codes: z.array(z.enum(WARNING_CODES)).max(MOST_TOLD).optional(),
  }),
  webhook: {
    type: 'approval.requested',
    data: ApprovalTold.extend({
      action: z.string().describe('What would be done: an action, message_actions or send_draft.'),
      draft_id: TOLD.draftId.nullable(),
      quorum: z.int().describe('How many yes votes it needs.'),
      approver_role: z.enum(APPROVER_ROLES).describe('The lowest role that may decide it.'),
      expires_at: instant.describe('It expires then unless it was decided.'),
      supersedes: z.string().nullable().describe('The earlier approval of the same draft.'),
      requester_id: z.string().describe('Who requests it: a person or an agent.'),
      requester_kind: z.enum(ACTOR_TYPES).describe('delegated: a program in the name of the person.'),
      warning_codes: z
        .array(z.enum(WARNING_CODES))
        .optional()
        .describe('What its worst warnings are about; absent in older events.'),
      console_path: z.string().describe('The page on which it is decided, below the address of the gateway.'),
    }),
    adds: (event) => ({
      ...approvalTold(event),
      quorum: event.data.terms.quorum,
      approver_role: event.data.terms.approver_role,
      requester_id: event.meta.actor.id,
      requester_kind: event.meta.actor.type,
      console_path: `/console#/approvals/${withPrefix('chk', event.subject)}`,
    }),
  },
});

const DECISIONS = ['approve', 'reject'] as const;

const ApprovalVoteCast = defineEvent({
  type: 'ApprovalVoteCast',
  summary: 'A person approved or rejected exactly the content the hash names.',
  data: z.object({
    decision: z.enum(DECISIONS),
    content_hash: z.string(),
    reason: sealedText.nullable(),
    /** Requested in this person's name. */
    own_request: z.boolean(),
  }),
  webhook: {
    type: 'approval.vote_cast',
    data: ApprovalTold.extend({ decision: z.enum(DECISIONS).describe('Yes or no.') }).describe(
      'A person voted.',
    ),
    adds: approvalTold,
  },
});

const GRANTED_BY = ['policy', 'quorum'] as const;

const ApprovalGranted = defineEvent({
  type: 'ApprovalGranted',
  summary: 'The quorum is complete, or policy requires none; it can be committed.',
  data: z.object({
    by: z.enum(GRANTED_BY),
    /** The first commit begins before this. */
    commit_by: instant,
  }),
  webhook: {
    type: 'approval.granted',
    data: ApprovalTold.extend({
      by: z.enum(GRANTED_BY).describe('Policy allowed it, or its votes are complete.'),
      commit_by: instant.describe('Its first commit begins before this.'),
    }),
    adds: approvalTold,
  },
});

const CommitScheduled = defineEvent({
  type: 'CommitScheduled',
  summary:
    'The gateway commits the approval automatically at the given time; until then it can be cancelled.',
  data: z.object({
    commit_at: instant,
    why: z.enum(['auto_commit', 'undo', 'retry']),
  }),
  webhook: null,
});

const CommitStarted = defineEvent({
  type: 'CommitStarted',
  summary: 'Everything was revalidated: the manifest is about to be executed.',
  data: z.object({
    /** Counts from 1. */
    attempt: z.int().min(1),
    run_id: z.string(),
    content_hash: z.string(),
    policy: z.object({ rule_id: z.string(), policy_version: z.int() }),
  }),
  webhook: null,
});

const CommitAttemptFailed = defineEvent({
  type: 'CommitAttemptFailed',
  summary: 'A commit certainly had no effect and may succeed later; the approval stays valid.',
  data: z.object({
    attempt: z.int().min(1),
    error: z.object({ code: z.string(), message: z.string() }),
    /** 24 hours after the attempt began. */
    expires_at: instant,
  }),
  webhook: null,
});

export const ApprovalRejected = defineEvent({
  type: 'ApprovalRejected',
  summary: 'An approver said no; nothing ran and nothing will.',
  data: z.object({}),
  webhook: { type: 'approval.rejected', data: ApprovalTold, adds: approvalTold },
});

export const ApprovalCancelled = defineEvent({
  type: 'ApprovalCancelled',
  summary: 'The approval was withdrawn before anything ran.',
  data: z.object({ reason: sealedText.nullable() }),
  webhook: { type: 'approval.cancelled', data: ApprovalTold, adds: approvalTold },
});

export const ApprovalExpired = defineEvent({
  type: 'ApprovalExpired',
  summary: 'Not decided or committed in time. Silence is "no".',
  data: z.object({
    /** When it expired; the event may be written later. */
    expired_at: instant,
  }),
  webhook: {
    type: 'approval.expired',
    data: ApprovalTold.extend({ expired_at: instant.describe('When it expired.') }),
    adds: approvalTold,
  },
});

export const ApprovalSuperseded = defineEvent({
  type: 'ApprovalSuperseded',
  summary: 'The draft was edited: the approved content is no longer what would be sent.',
  data: z.object({ draft_version: z.int() }),
  webhook: {
    type: 'approval.superseded',
    data: ApprovalTold.extend({
      draft_version: z.int().describe('The version of the draft that replaced it.'),
    }),
    adds: approvalTold,
  },
});

export const INVALIDATIONS = [
  'approver_gone',
  'draft_discarded',
  'grant_gone',
  'mailbox_removed',
  'manifest_mismatch',
  'policy_stricter',
  'requester_gone',
  'targets_gone',
] as const;
export type Invalidation = (typeof INVALIDATIONS)[number];

export const ApprovalInvalidated = defineEvent({
  type: 'ApprovalInvalidated',
  summary: 'What the approval depended on is gone: it can never be committed.',
  data: z.object({
    reason: z.enum(INVALIDATIONS),
    /** The present policy decision, where that is the reason. */
    policy: z.object({ decision: z.string(), rule_id: z.string(), policy_version: z.int() }).nullable(),
  }),
  webhook: {
    type: 'approval.invalidated',
    data: ApprovalTold.extend({ reason: z.enum(INVALIDATIONS).describe('What it depended on.') }),
    adds: approvalTold,
  },
});

export const ApprovalCommitted = defineEvent({
  type: 'ApprovalCommitted',
  summary: 'What was approved was executed; the outcomes are in the same append.',
  data: z.object({ attempt: z.int().min(1) }),
  webhook: {
    type: 'approval.committed',
    data: ApprovalTold.describe('What was approved was executed.'),
    adds: approvalTold,
  },
});

export const ApprovalCommitFailed = defineEvent({
  type: 'ApprovalCommitFailed',
  summary: 'The commit failed permanently; the outcomes in the same append say why.',
  data: z.object({ attempt: z.int().min(1) }),
  webhook: {
    type: 'approval.commit_failed',
    data: ApprovalTold.describe('The commit failed permanently.'),
    adds: approvalTold,
  },
});

export const approvalEvents = [
  ApprovalRequested,
  ApprovalVoteCast,
  ApprovalGranted,
  CommitScheduled,
  CommitStarted,
  CommitAttemptFailed,
  ApprovalRejected,
  ApprovalCancelled,
  ApprovalExpired,
  ApprovalSuperseded,
  ApprovalInvalidated,
  ApprovalCommitted,
  ApprovalCommitFailed,
] as const;
export type ApprovalEvent = (typeof approvalEvents)[number];
