/** An approval as answered, texts sealed: one read derives it from the stream, lists use `read.approval`. */
import type { EventMetadata } from '../values/event.ts';
import type { Sealed } from '../values/sealed.ts';
import type { Invalidation } from './approval-events.ts';
import {
  type ApprovalState,
  type ApprovalStatus,
  commitAtOf,
  endOf,
  recordedStatus,
  type Vote,
  wasGranted,
} from './approval-state.ts';
import type { ItemResult, Summary } from './operation-events.ts';
import type { OperationState } from './operation.ts';
import { countsOf } from './approval-reply.ts';

export interface ApprovalRecord {
  readonly operationId: string;
  readonly orgId: string | null;
  readonly mailboxId: string;
  readonly requester: Pick<EventMetadata['actor'], 'id' | 'type'>;
  readonly reason: Sealed | null;
  readonly policy: { readonly version: number; readonly rule_id: string };
  readonly requested: Pick<
    ApprovalState['requested'],
    'action' | 'draft_id' | 'content_hash' | 'manifest' | 'warnings' | 'terms'
  >;
  readonly requestedAt: string;
  readonly votes: readonly RecordedVote[];
  /** As recorded; `statusAt` adds expiry by the clock. */
  readonly status: ApprovalStatus;
  readonly wasGranted: boolean;
  readonly expiresAt: string;
  readonly commitAt: string | null;
  readonly endedAt: string | null;
  readonly cancelReason: Sealed | null;
  readonly invalidated: EndReason | null;
  /** Commits that were begun. */
  readonly attempts: number;
  /** Of the last attempt, or of the send. */
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly results: readonly ItemResult[];
  /** The number of items per outcome; null while nothing is recorded. */
  readonly counts: Summary | null;
}

type RecordedVote = Omit<Vote, 'by'> & { readonly by: string };

interface EndReason {
  readonly reason: Invalidation;
  readonly policy: {
    readonly decision: string;
    readonly rule_id: string;
    readonly policy_version: number;
  } | null;
}

export function approvalRecord(operationId: string, state: OperationState): ApprovalRecord {
  const { submitted, decided, mailboxId, approval, results } = state;
  if (!submitted || !decided || mailboxId === null || approval === null)
    throw new Error(`operation ${operationId} has no approval`);
  const { requested, requestedAt, votes, expiresAt } = approval;
  const counts = countsOf(state);
  return {
    ...{ operationId, mailboxId, requestedAt, expiresAt, counts },
    orgId: submitted.orgId,
    requester: submitted.by,
    reason: submitted.reason,
    policy: { version: decided.policy_version, rule_id: decided.rule_id },
    requested: requestedOf(requested),
    votes: votes.map(voteOf),
    status: recordedStatus(approval, (counts?.unknown ?? 0) > 0),
    wasGranted: wasGranted(approval),
    commitAt: commitAtOf(approval),
    ...endedAs(approval),
    attempts: approval.attempt?.number ?? 0,
    error: errorOf(state, approval),
    results: results ?? [],
  };
}

function endedAs(approval: ApprovalState): Pick<ApprovalRecord, 'endedAt' | 'cancelReason' | 'invalidated'> {
  const end = endOf(approval);
  return {
    endedAt: approval.phase === 'ended' ? approval.endedAt : null,
    cancelReason: end?.status === 'cancelled' ? end.reason : null,
    invalidated: end?.status === 'invalidated' ? end.why : null,
  };
}

const errorOf = ({ send }: OperationState, { attempt }: ApprovalState): ApprovalRecord['error'] =>
  send?.outcome == null ? (attempt?.error ?? null) : send.outcome.error;

export const requestedOf = ({
  action,
  draft_id,
  content_hash,
  manifest,
  warnings,
  terms,
}: ApprovalState['requested']): ApprovalRecord['requested'] => ({
  ...{ action, draft_id, content_hash, manifest, terms },
  ...(warnings === undefined ? {} : { warnings }),
});

export const voteOf = ({ by, decision, reason, at, content_hash, own_request }: Vote): RecordedVote => ({
  ...{ decision, reason, at, content_hash, own_request },
  by: by.id,
});
