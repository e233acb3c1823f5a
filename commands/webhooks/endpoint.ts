/** A webhook endpoint: where events of an organisation are sent, and which. */
import type { EndpointHealth } from '../ports/webhook-records.ts';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, type PastFact } from '../values/event.ts';
import type { Sealed } from '../values/sealed.ts';
import {
  type DisableReason,
  type EndpointEvent,
  endpointEvents,
  type PayloadForm,
  type WebhookEndpointChanged,
} from './endpoint-events.ts';

/** A secret that signs; null = the current one. */
export interface SigningSecret {
  readonly id: string;
  readonly expiresAt: string | null;
}

export interface EndpointState {
  /** Null before it was created. */
  readonly createdBy: string | null;
  /** The person whose rights decide what may be delivered. */
  readonly rightsOf: string | null;
  readonly url: Sealed | null;
  readonly description: Sealed | null;
  readonly eventTypes: readonly string[];
  readonly mailboxIds: readonly string[];
  readonly payload: PayloadForm;
  readonly status: 'active' | 'paused' | 'disabled' | 'removed';
  readonly disabledReason: DisableReason | null;
  /** The newest first. Expired ones stay until the next rotation; whoever signs leaves them out. */
  readonly secrets: readonly SigningSecret[];
  readonly secretHint: Sealed | null;
  /** Counts every change of the settings, the status and the secret; the ETag. */
  readonly version: number;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
}

export const webhookEndpoint: Aggregate<EndpointState, EndpointEvent> = {
  category: 'webhookEndpoint',
  catalogue: catalogueOf(endpointEvents),
  initial: {
    createdBy: null,
    rightsOf: null,
    url: null,
    description: null,
    eventTypes: [],
    mailboxIds: [],
    payload: 'thin',
    status: 'active',
    disabledReason: null,
    secrets: [],
    secretHint: null,
    version: 0,
    createdAt: null,
    updatedAt: null,
  },
  evolve: (state, fact) => {
    const changes = changesBy(state, fact);
    if (changes === null) return state;
    return { ...state, ...changes, version: state.version + 1, updatedAt: fact.meta.occurred_at };
  },
};

/** What an event changes; null for one that only asks for deliveries. */
function changesBy(
  state: EndpointState,
  { type, data, meta }: PastFact<EndpointEvent>,
): Partial<EndpointState> | null {
  switch (type) {
    case 'WebhookEndpointCreated':
      return {
        ...settingsOf(data),
        createdBy: data.created_by,
        secrets: [{ id: data.secret_id, expiresAt: null }],
        secretHint: data.secret_hint,
        createdAt: meta.occurred_at,
      };
    case 'WebhookEndpointChanged':
      return settingsOf(data);
    case 'WebhookEndpointPaused':
      return { status: 'paused' };
    case 'WebhookEndpointResumed':
      return { status: 'active', disabledReason: null };
    case 'WebhookEndpointDisabled':
      return { status: 'disabled', disabledReason: data.reason };
    case 'WebhookSecretRotated':
      return {
        secrets: [
          { id: data.secret_id, expiresAt: null },
          ...liveSecrets(state.secrets, meta.occurred_at).map(({ id, expiresAt }) => ({
            id,
            expiresAt: earlier(expiresAt, data.previous_expires_at),
          })),
        ],
        secretHint: data.secret_hint,
      };
    case 'WebhookEndpointRemoved':
      return { status: 'removed' };
    case 'WebhookDeliveryReplayed':
    case 'WebhookReplayRequested':
      return null;
  }
}

type Settings = PastFact<typeof WebhookEndpointChanged>['data'];

const settingsOf = ({
  url,
  description,
  event_types,
  mailbox_ids,
  payload,
  rights_of,
}: Settings): Partial<EndpointState> => ({
  ...(url !== undefined && { url }),
  ...(description !== undefined && { description }),
  ...(event_types !== undefined && { eventTypes: event_types }),
  ...(mailbox_ids !== undefined && { mailboxIds: mailbox_ids }),
  ...(payload !== undefined && { payload }),
  ...(rights_of !== undefined && { rightsOf: rights_of }),
});

const earlier = (a: string | null, b: string): string =>
  a !== null && Date.parse(a) < Date.parse(b) ? a : b;

/** The secrets that sign at a time. */
export const liveSecrets = (secrets: readonly SigningSecret[], at: string): readonly SigningSecret[] =>
  secrets.filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > Date.parse(at));

export const ENDPOINT_STATUSES = ['active', 'failing', 'paused', 'disabled'] as const;
export type EndpointStatus = (typeof ENDPOINT_STATUSES)[number];

/** The status as callers see it: an active endpoint is `failing` while its last attempt failed. */
export const endpointStatus = (
  { status }: Pick<EndpointState, 'status'>,
  health: Pick<EndpointHealth, 'consecutiveFailures'> | null,
): EndpointStatus => {
  if (status === 'active') return health !== null && health.consecutiveFailures > 0 ? 'failing' : 'active';
  return status === 'paused' ? 'paused' : 'disabled';
};
