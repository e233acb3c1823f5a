/** The state of a draft from its own stream, the basis of every edit and every send. */
import { draftEvents, type DraftVersion, type Threading } from './draft-events.ts';
import { DeliveryReportReceived } from './report-events.ts';
import type { DraftKind, DraftStatus } from '../operations/draft-shape.ts';
import type { About, Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, type Fact, type PastFact } from '../values/event.ts';
import type { SealedOr } from '../kernel/sealed-json.ts';

type DraftEvent = (typeof draftEvents)[number] | typeof DeliveryReportReceived;
export type DraftFact = Fact<DraftEvent>;
type DataOf<Type extends DraftEvent['type']> = PastFact<Extract<DraftEvent, { readonly type: Type }>>['data'];

/** The send that the draft is frozen for, and its progress. */
export interface Send {
  readonly frozen: DataOf<'DraftFrozen'>;
  /** Attempts begun. */
  readonly attempts: number;
  /** The running or last attempt; null before the first. */
  readonly started: DataOf<'SendStarted'> | null;
  /** Set once the server accepted the envelope: from then on the data may have been sent. */
  readonly dataBegunAt: string | null;
  /** Recipients that the server refused in the envelope. */
  readonly rejected: DataOf<'SendDataBegun'>['rejected'];
  /** When the next attempt is due; null while one runs or none will follow. */
  readonly retryAt: string | null;
  /** Why the last attempt was put off: a code of the error table. */
  readonly putOffBy: string | null;
  /**
   * Until when a send without approval is held back; null once it began, and for a send that is not held
   * back.
   */
  readonly commitAt: string | null;
  readonly firstAttemptAt: string | null;
  readonly sentAt: string | null;
  readonly copyFiled: boolean;
}

/**
 * How the send of one operation ended so far. It is kept, because edits and another send may follow a failed
 * one.
 */
export type SendEnd =
  | { readonly kind: 'sent'; readonly data: DataOf<'DraftSent'> }
  | { readonly kind: 'failed'; readonly data: DataOf<'DraftSendFailed'> }
  | { readonly kind: 'unknown' };

/** A delivery report, and when it was found. */
export type ReceivedReport = DataOf<'DeliveryReportReceived'> & { readonly at: string };

export interface DraftState {
  /** Null until the draft is started. */
  readonly mailboxId: string | null;
  readonly status: DraftStatus;
  /** Counts the events from 0, as the stream does; -1 until the draft is started. */
  readonly revision: number;
  readonly kind: DraftKind;
  readonly sourceMessageId: string | null;
  readonly threading: SealedOr<Threading> | null;
  readonly current: DraftVersion | null;
  readonly send: Send | null;
  /** The newest approval that an edit superseded; the next request replaces it. */
  readonly supersededApproval: string | null;
  readonly outcome: DataOf<'DraftSent'> | DataOf<'DraftSendFailed'> | null;
  /** By operation. */
  readonly sendEnds: Readonly<Partial<Record<string, SendEnd>>>;
  /** Oldest first. */
  readonly reports: readonly ReceivedReport[];
  readonly createdAt: string | null;
  readonly createdBy: string | null;
  readonly updatedAt: string | null;
}

type Steps = {
  readonly [Type in DraftEvent['type']]: (
    state: DraftState,
    fact: PastFact<Extract<DraftEvent, { readonly type: Type }>>,
  ) => Partial<DraftState>;
};

const withSend = ({ send }: DraftState, change: Partial<Send>): Pick<DraftState, 'send'> => ({
  send: send && { ...send, ...change },
});

const withEnd = (
  { sendEnds }: DraftState,
  operationId: string,
  end: SendEnd,
): Pick<DraftState, 'sendEnds'> => ({ sendEnds: { ...sendEnds, [operationId]: end } });

/**
 * The Message-ID the message was or will be sent with; null until it is frozen. Some servers replace the
 * gateway's.
 */
export const rfcMessageIdOf = ({ outcome, send }: DraftState): SealedOr<string> | null => {
  const given = outcome !== null && 'rfc_message_id' in outcome ? outcome.rfc_message_id : null;
  return given ?? send?.frozen.rfc_message_id ?? null;
};

/** The open approval. The end of an earlier one is read by its own id. */
export const approvalOfDraft = ({ status, send }: DraftState): string | null =>
  status === 'in_review' ? (send?.frozen.approval_id ?? null) : null;

const steps: Steps = {
  DraftStarted: (_, { data, meta }) => ({
    mailboxId: data.mailbox_id,
    kind: data.kind,
    sourceMessageId: data.source_message_id,
    threading: data.threading,
    current: data.draft,
    createdAt: meta.occurred_at,
    createdBy: meta.actor.id,
  }),
  // Editing ends a failed send: the next freeze gives a new Message-ID.
  DraftEdited: (state, { data }) => ({
    current: data.draft,
    status: 'open',
    send: null,
    outcome: null,
    supersededApproval: approvalOfDraft(state) ?? state.supersededApproval,
  }),
  DraftDiscarded: () => ({ status: 'discarded' }),
  DraftReleased: () => ({ status: 'open', send: null, outcome: null }),
  DraftFrozen: (_, { data }) => ({
    status: 'in_review',
    outcome: null,
    send: {
      frozen: data,
      attempts: 0,
      started: null,
      dataBegunAt: null,
      rejected: [],
      retryAt: null,
      putOffBy: null,
      commitAt: null,
      firstAttemptAt: null,
      sentAt: null,
      copyFiled: false,
    },
  }),
  SendScheduled: (state, { data }) => ({
    status: 'sending',
    ...withSend(state, { commitAt: data.commit_at }),
  }),
  SendStarted: (state, { data, meta }) => ({
    status: 'sending',
    ...withSend(state, {
      attempts: data.attempt,
      started: data,
      dataBegunAt: null,
      rejected: [],
      retryAt: null,
      commitAt: null,
      firstAttemptAt: state.send?.firstAttemptAt ?? meta.occurred_at,
    }),
  }),
  SendDataBegun: (state, { data, meta }) =>
    withSend(state, { dataBegunAt: meta.occurred_at, rejected: data.rejected }),
  // With an approval the next attempt is another commit; the draft can be edited until then.
  SendPostponed: (state, { data }) => ({
    ...(data.approval_id === undefined ? {} : { status: 'in_review' as const }),
    ...withSend(state, { dataBegunAt: null, retryAt: data.retry_at, putOffBy: data.code }),
  }),
  DraftSent: (state, { data, meta }) => ({
    status: 'sent',
    outcome: data,
    ...withSend(state, { retryAt: null, sentAt: meta.occurred_at }),
    ...withEnd(state, data.operation_id, { kind: 'sent', data }),
  }),
  DraftSendFailed: (state, { data }) => ({
    status: 'send_failed',
    outcome: data,
    ...withSend(state, { retryAt: null }),
    ...withEnd(state, data.operation_id, { kind: 'failed', data }),
  }),
  DraftSendUnknown: (state, { data }) => ({
    status: 'send_unknown',
    ...withEnd(state, data.operation_id, { kind: 'unknown' }),
  }),
  SentCopyFiled: (state) => withSend(state, { copyFiled: true }),
  DeliveryReportReceived: ({ reports }, { data, meta }) => ({
    reports: [...reports, { ...data, at: meta.occurred_at }],
  }),
};

export const draft: Aggregate<DraftState, DraftEvent> = {
  category: 'draft',
  catalogue: catalogueOf([...draftEvents, DeliveryReportReceived]),
  initial: {
    mailboxId: null,
    status: 'open',
    revision: -1,
    kind: 'new',
    sourceMessageId: null,
    threading: null,
    current: null,
    send: null,
    supersededApproval: null,
    outcome: null,
    sendEnds: {},
    reports: [],
    createdAt: null,
    createdBy: null,
    updatedAt: null,
  },
  evolve: (state, fact) => {
    const step = steps[fact.type] as (state: DraftState, fact: PastFact<DraftEvent>) => Partial<DraftState>;
    return {
      ...state,
      ...step(state, fact),
      revision: state.revision + 1,
      updatedAt: fact.meta.occurred_at,
    };
  },
  about: (_, before, after) => aboutDraft(before, after),
};

/** An event that takes a draft out of review is also about the approval that it ends. */
export function aboutDraft(before: DraftState, { mailboxId, send }: DraftState): About {
  const approvalId = send?.frozen.approval_id ?? approvalOfDraft(before);
  return {
    ...(mailboxId === null ? {} : { mailbox_id: mailboxId }),
    ...(approvalId === null ? {} : { approval_id: approvalId }),
  };
}
