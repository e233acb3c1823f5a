/** What may happen to a webhook endpoint, given its state. */
import { GatewayError, notFound } from '../values/errors.ts';
import type { Fact } from '../values/event.ts';
import type { Sealed } from '../values/sealed.ts';
import { type EndpointState, liveSecrets } from './endpoint.ts';
import type { EndpointEvent, PayloadForm } from './endpoint-events.ts';

type Facts = readonly Fact<EndpointEvent>[];

export interface EndpointSettings {
  readonly url: Sealed;
  readonly description: Sealed | null;
  readonly eventTypes: readonly string[];
  readonly mailboxIds: readonly string[];
  readonly payload: PayloadForm;
}

type SettingsData = Extract<Fact<EndpointEvent>, { readonly type: 'WebhookEndpointChanged' }>['data'];

const dataOf = ({ eventTypes, mailboxIds, ...others }: Partial<EndpointSettings>): SettingsData => ({
  ...others,
  // The input's schema holds them to the list.
  ...(eventTypes && { event_types: [...eventTypes] as SettingsData['event_types'] }),
  ...(mailboxIds && { mailbox_ids: [...mailboxIds] }),
});

/** Throws `not_found` for an endpoint that was never created or is deleted. */
export function assertExists({ version, status }: EndpointState): void {
  if (version === 0 || status === 'removed') throw notFound('webhook endpoint');
}

/** Throws `version_conflict` when the endpoint is not in the version of an If-Match header. */
export function assertVersion({ version }: EndpointState, ifMatch: string | null): void {
  if (ifMatch === null || ifMatch === '*' || ifMatch === String(version)) return;
  throw new GatewayError(
    'version_conflict',
    'The endpoint changed since the version in If-Match; read it again.',
    { details: { version } },
  );
}

/** An endpoint of a repeated request stays as it was made. */
export function createEndpoint(
  { version }: EndpointState,
  settings: EndpointSettings,
  made: { readonly by: string; readonly secretId: string; readonly secretHint: Sealed },
): Facts {
  if (version > 0) return [];
  const { url, description, payload } = settings;
  const { event_types = [], mailbox_ids = [] } = dataOf(settings);
  const by = { created_by: made.by, rights_of: made.by };
  const secret = { secret_id: made.secretId, secret_hint: made.secretHint };
  return [
    {
      type: 'WebhookEndpointCreated',
      data: { url, description, payload, event_types, mailbox_ids, ...by, ...secret },
    },
  ];
}

export interface EndpointChange {
  readonly settings: Partial<EndpointSettings>;
  readonly status: 'active' | 'paused' | undefined;
  /** The person who changes it: their rights decide from now on what may be delivered, unless only the description changes. */
  readonly by: string;
}

/** Only what differs. Throws `not_found`. */
export function changeEndpoint(state: EndpointState, { settings, status, by }: EndpointChange): Facts {
  assertExists(state);
  const { description, ...others } = settings;
  const isAboutRights = Object.keys(others).length > 0;
  return [
    ...(isAboutRights || description !== undefined
      ? [
          {
            type: 'WebhookEndpointChanged' as const,
            data: { ...dataOf(settings), ...(isAboutRights && { rights_of: by }) },
          },
        ]
      : []),
    ...(status === 'paused' && state.status !== 'paused'
      ? [{ type: 'WebhookEndpointPaused' as const, data: {} }]
      : []),
    ...(status === 'active' && state.status !== 'active'
      ? [{ type: 'WebhookEndpointResumed' as const, data: {} }]
      : []),
  ];
}

/** Throws `not_found`. */
export function removeEndpoint(state: EndpointState): Facts {
  assertExists(state);
  return [{ type: 'WebhookEndpointRemoved', data: {} }];
}

/** Secrets that sign at once: the new one, and two before it. */
const MOST_SECRETS = 3;

/** Throws `not_found`, or `conflict` when more secrets than three would sign. */
export function rotateSecret(
  state: EndpointState,
  {
    secretId,
    secretHint,
    previousExpiresAt,
    now,
  }: {
    readonly secretId: string;
    readonly secretHint: Sealed;
    readonly previousExpiresAt: string;
    readonly now: Date;
  },
): Facts {
  assertExists(state);
  const isKept = Date.parse(previousExpiresAt) > now.getTime();
  if (isKept && liveSecrets(state.secrets, now.toISOString()).length >= MOST_SECRETS) {
    throw new GatewayError(
      'conflict',
      'Three secrets of this endpoint sign already; wait until one expires, or rotate with overlap_seconds 0.',
    );
  }
  return [
    {
      type: 'WebhookSecretRotated',
      data: { secret_id: secretId, secret_hint: secretHint, previous_expires_at: previousExpiresAt },
    },
  ];
}
