/** A webhook endpoint as the API returns it, and what a caller may see and set of it. */
import { z } from 'zod';
import type { Caller } from '../kernel/access.ts';
import type { Context } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import type { EndpointHealth } from '../ports/webhook-records.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { WEBHOOK_EVENT_TYPES } from '../values/webhook-event.ts';
import { assertExists } from './decide-endpoint.ts';
import {
  ENDPOINT_STATUSES,
  type EndpointState,
  endpointStatus,
  liveSecrets,
  webhookEndpoint,
} from './endpoint.ts';
import { DISABLE_REASONS, EVERY, PAYLOADS } from './endpoint-events.ts';
import { NEW_HEALTH } from './endpoint-health.ts';

export const WebhookEndpoint = z.object({
  id: z.string(),
  url: z.string().nullable().describe('Null once the data of the person who created it was erased.'),
  description: z.string().nullable(),
  event_types: z.array(z.string()),
  mailbox_ids: z.array(z.string()),
  status: z
    .enum(ENDPOINT_STATUSES)
    .describe('failing: the last attempt failed. paused: events are queued. disabled: nothing is queued.'),
  disabled_reason: z.enum(DISABLE_REASONS).nullable(),
  payload: z.enum(PAYLOADS),
  secret_hint: z.string().nullable().describe('The last characters of the current secret.'),
  previous_secret_expires_at: z
    .string()
    .nullable()
    .describe('Until then payloads are also signed with the previous secret.'),
  consecutive_failures: z.int(),
  last_success_at: z.string().nullable(),
  last_failure_at: z.string().nullable(),
  next_attempt_not_before: z
    .string()
    .nullable()
    .describe(
      'The gateway leaves the endpoint alone until then, because it failed often or asked for a pause.',
    ),
  last_sequence: z.int().describe('The number of the last event queued for it.'),
  created_by: z.string(),
  rights_of: z.string().describe('The person whose rights decide what may be delivered.'),
  version: z.int(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type WebhookEndpoint = z.output<typeof WebhookEndpoint>;

export const endpointEtag = ({ version }: WebhookEndpoint): string => String(version);

/** Expects the state of an endpoint that was created; `known` is null until the read model has it. */
export async function describeEndpoint(
  { personal, clock }: Pick<Ports, 'personal' | 'clock'>,
  id: string,
  state: EndpointState,
  known: EndpointHealth | null,
): Promise<WebhookEndpoint> {
  const health = known ?? NEW_HEALTH;
  const opened = (sealed: EndpointState['url']) => (sealed === null ? null : personal.open(sealed));
  const [, previous = null] = liveSecrets(state.secrets, clock.now().toISOString());
  return {
    id,
    url: await opened(state.url),
    description: await opened(state.description),
    event_types: [...state.eventTypes],
    mailbox_ids: [...state.mailboxIds],
    status: endpointStatus(state, health),
    disabled_reason: state.disabledReason,
    payload: state.payload,
    secret_hint: await opened(state.secretHint),
    previous_secret_expires_at: previous?.expiresAt ?? null,
    consecutive_failures: health.consecutiveFailures,
    last_success_at: health.lastSuccessAt,
    last_failure_at: health.lastFailureAt,
    next_attempt_not_before: health.notBefore,
    last_sequence: health.lastSequence,
    created_by: text(state.createdBy),
    rights_of: text(state.rightsOf),
    version: state.version,
    created_at: text(state.createdAt),
    updated_at: text(state.updatedAt),
  };
}

/** Set in every endpoint that was created. */
const text = (value: string | null): string => value ?? '';

/** A caller limited to mailboxes reaches the endpoints of those. */
export const reachesEndpoint = (
  { token: { mailboxIds } }: Pick<Caller, 'token'>,
  state: Pick<EndpointState, 'mailboxIds'>,
): boolean => mailboxIds === null || state.mailboxIds.every((id) => mailboxIds.includes(id));

export const EndpointId = z.string().min(1).max(64);

/** The endpoint as its stream has it. Throws `not_found`, also for one of another organisation and for one out of reach. */
export async function endpointOf(
  { caller, ports }: Pick<Context, 'caller' | 'ports'>,
  id: string,
): Promise<EndpointState> {
  const [first] = await ports.events.readStream(`${webhookEndpoint.category}-${id}`);
  if (first?.metadata['org_id'] !== caller.org.id) throw notFound('webhook endpoint');
  const { state } = await loadAggregate(ports.events, webhookEndpoint, id);
  assertExists(state);
  if (!reachesEndpoint(caller, state)) throw notFound('webhook endpoint');
  return state;
}

/** The person in whose name the caller acts. */
export const personOf = ({ onBehalfOf, principal }: Caller): string => onBehalfOf ?? principal.id;

export const endpointFields = {
  url: z
    .string()
    .min(1)
    .max(2_000)
    .describe(
      'An https URL at a public address. Payloads are sent there by POST; redirects are not followed.',
    ),
  event_types: z
    .array(z.enum([...WEBHOOK_EVENT_TYPES, EVERY]))
    .min(1)
    .max(WEBHOOK_EVENT_TYPES.length)
    .describe('["*"] = every event type, also future ones.'),
  mailbox_ids: z
    .array(z.string().min(1).max(64))
    .max(500)
    .describe(
      'Events of these mailboxes are sent. ["*"] = every mailbox; owners and admins only. Empty = none.',
    ),
  payload: z
    .enum(PAYLOADS)
    .describe('thin: ids. summary: also sender, recipients and subject, for events of messages.'),
  description: z.string().max(500).nullable(),
};

/**
 * The mailboxes, once each. Throws `not_found` for one whose messages the caller may not read now, `invalid_request` or
 * `insufficient_scope` for `*`.
 */
export function mailboxesWithin(caller: Caller, ids: readonly string[]): readonly string[] {
  if (ids.includes(EVERY)) {
    if (ids.length > 1) throw refuseMailboxes('"*" names every mailbox; send it alone.');
    const managesAll = caller.role === 'owner' || caller.role === 'admin';
    if (managesAll && caller.token.mailboxIds === null) return ids;
    throw new GatewayError(
      'insufficient_scope',
      'Only an owner or admin may subscribe to every mailbox; name the mailboxes in mailbox_ids.',
    );
  }
  for (const id of ids) {
    if (caller.mailboxes.get(id)?.scopes.has('messages:read') !== true) throw notFound('mailbox');
  }
  return [...new Set(ids)];
}

const refuseMailboxes = (message: string): GatewayError =>
  new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'mailbox_ids', code: 'custom', message }] },
  });
