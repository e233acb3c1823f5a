/** What the outside hears of an event: the closed list of webhook event types, and the mapping each event declares. */
import { z } from 'zod';

/** Event types that an endpoint can subscribe to (`contract.md` 11). */
export const WEBHOOK_EVENT_TYPES = [
  'message.received', 'message.updated', 'message.moved', 'message.deleted', 'message.bounced',
  'draft.created', 'draft.updated', 'draft.discarded', 'draft.sent', 'draft.send_failed', 'draft.send_unknown',
  'approval.requested', 'approval.vote_cast', 'approval.granted', 'approval.rejected', 'approval.cancelled',
  'approval.expired', 'approval.superseded', 'approval.invalidated', 'approval.committed', 'approval.commit_failed',
  'operation.completed',
  'mailbox.connected', 'mailbox.auth_failed', 'mailbox.connection_failed', 'mailbox.sync_reset',
  'token.issued', 'token.revoked', 'member.added', 'member.removed', 'application.connected', 'application.disconnected',
  'webhook_endpoint.disabled', 'webhook_endpoint.secret_rotated', 'policy.denied', 'audit.checkpoint_sealed',
] as const; // prettier-ignore
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

/** Sent by `POST /webhook-endpoints/<id>/test` only; an endpoint cannot subscribe to it. */
export const TEST_EVENT_TYPE = 'webhook_endpoint.test';

/** Statuses in which a delivery has ended. */
export const ENDED_STATUSES = ['succeeded', 'failed', 'blocked', 'interrupted', 'cancelled'] as const;
export type EndedStatus = (typeof ENDED_STATUSES)[number];

/** Why there is a delivery: an event, a failed attempt before it, or a request. */
export const TRIGGERS = ['event', 'retry', 'test', 'replay'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** Why an attempt did not succeed. */
export const DELIVERY_ERRORS = [
  'http_status',
  'redirect',
  'target_blocked',
  'timeout',
  'dns_failed',
  'connection_refused',
  'connection_reset',
  'tls_failed',
  'protocol_error',
  'interrupted',
  'expired',
  'endpoint_disabled',
  'endpoint_removed',
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];

/** One thing to tell the outside. */
export interface Notification {
  readonly type: WebhookEventType;
  /** The `data` of the payload: ids and plain facts of the event, never a sealed text. */
  readonly data: Readonly<Record<string, unknown>>;
  /** The mailbox it is about; null for an event of the organisation. */
  readonly mailboxId: string | null;
  /**
   * Numbers of the folders it concerns, for grants limited to folders; null where they are not known, and such a grant is
   * then not enough.
   */
  readonly folders: readonly number[] | null;
}

/** What a mapping reads of an event. */
export interface PublishedEvent<Data> {
  readonly data: Data;
  readonly meta: {
    readonly mailbox_id?: string | undefined;
    readonly approval_id?: string | undefined;
    readonly actor: { readonly id: string; readonly type: 'person' | 'delegated' | 'agent' | 'system' };
  };
  /** The id in the name of its stream, such as `drf_…` of `draft-drf_…`. */
  readonly subject: string;
  /** Its place in its stream, from 0. */
  readonly revision: bigint;
}

/** The mapping of one event to webhooks, declared beside the event. */
export interface Publication<Data = unknown> {
  /** The schema of `data` for each type that the event can become; described where the event's summary does not say when. */
  readonly types: Readonly<Partial<Record<WebhookEventType, z.ZodObject>>>;
  /**
   * One event can become several payloads; each then has an id derived from the event's and its place in the list, so a place
   * must not move: null where one is not published.
   */
  readonly many?: true;
  readonly notify: (event: PublishedEvent<Data>) => readonly (Notification | null)[];
}

/** The usual mapping: the event becomes this one type. */
export interface PublishedAs<Data, Told extends z.ZodObject> {
  readonly type: WebhookEventType;
  /**
   * The schema of the payload's `data`. Fields of the event with the same name are copied, no others. With a `mailbox_id` it is
   * told of that mailbox, without one of the organisation.
   */
  readonly data: Told;
  /** The fields that the event's data does not have. */
  readonly adds: (event: PublishedEvent<Data>) => Omit<z.input<Told>, keyof Data>;
  /** False for an event that the outside does not hear of; absent = it always does. */
  readonly isTold?: (event: PublishedEvent<Data>) => boolean;
}

export const publicationOf = <Data, Told extends z.ZodObject>({
  type,
  data: schema,
  adds,
  isTold,
}: PublishedAs<Data, Told>): Publication<Data> => ({
  types: { [type]: schema },
  notify: (event) => {
    if (isTold?.(event) === false) return [];
    const data = schema.parse({ ...event.data, ...adds(event) });
    const mailboxId = data['mailbox_id'];
    return [{ type, data, mailboxId: typeof mailboxId === 'string' ? mailboxId : null, folders: null }];
  },
});

/** The mailbox of an event whose stream belongs to one. Throws when the event does not name it. */
export function mailboxOf({ meta, subject }: PublishedEvent<unknown>): string {
  if (meta.mailbox_id === undefined) throw new Error(`an event of ${subject} names no mailbox`);
  return meta.mailbox_id;
}

/** Fields that several payloads have. */
export const TOLD = {
  mailboxId: z.string().describe('The mailbox.'),
  draftId: z.string().describe('The draft.'),
  operationId: z.string().describe('The operation of the gateway that did this.'),
};
