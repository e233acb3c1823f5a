/** Webhook endpoints and deliveries in plain words. */
import { badgeOf, CHECK, CLOCK, CROSS, DASH, DOT, PAUSE, QUESTION } from './badges.js';
import { foreign } from './foreign-text.js';
import { EVERY } from './webhook-events.js';
import { counted } from './wording.js';

/** @import { Delivery, DeliveryStatus, EndpointStatus, WebhookEndpoint } from './payloads.d.ts' */
/** @typedef {import('./badges.js').StatusWords} StatusWords */

/**
 * What to do after an error on these pages.
 * @type {Readonly<Record<string, string>>}
 */
export const NEXT = {
  not_found: 'The link may be wrong, or it was deleted.',
  version_conflict: 'Someone changed it meanwhile. Reload the page, then try again.',
  target_blocked: 'Use an https address on the public internet, on port 443. An operator can open others.',
  endpoint_disabled: 'Enable the endpoint first.',
  insufficient_scope: 'Your role does not include this. Ask an owner or admin of the organisation.',
};

/** @type {Readonly<Record<EndpointStatus, StatusWords>>} */
export const ENDPOINT_STATUSES = {
  active: { label: 'Active', tone: 'good', path: CHECK, about: 'Events are sent as they happen.' },
  failing: {
    label: 'Failing',
    tone: 'bad',
    path: CROSS,
    about:
      'The last attempt failed. The gateway goes on trying, and gives up after five days of failures only.',
  },
  paused: {
    label: 'Paused',
    tone: 'ask',
    path: PAUSE,
    about: 'Nothing is sent. Events are kept for 30 days and sent when you resume.',
  },
  disabled: {
    label: 'Disabled',
    tone: 'over',
    path: DASH,
    about: 'Nothing is sent or queued. Enable it, then replay what was cancelled.',
  },
};

/** @param {Pick<WebhookEndpoint, 'status'>} endpoint */
export const endpointBadge = ({ status }) => badgeOf(ENDPOINT_STATUSES[status]);

const DISABLED_BECAUSE = {
  gone: 'It answered 410 Gone.',
  failing: 'Every attempt failed for five days.',
  rights_gone: 'The person it was set up by may no longer manage webhooks.',
};

/**
 * What its status means, in a sentence or two.
 * @param {WebhookEndpoint} endpoint
 */
export const aboutStatus = ({ status, disabled_reason: reason }) =>
  [reason === null ? '' : DISABLED_BECAUSE[reason], ENDPOINT_STATUSES[status].about].join(' ').trim();

/** @param {Pick<WebhookEndpoint, 'url'>} endpoint */
export const addressOf = ({ url }) => url ?? 'An address that was erased';

/** @param {Pick<WebhookEndpoint, 'event_types'>} endpoint */
export const eventsOf = ({ event_types: types }) =>
  types.includes(EVERY) ? 'Every event' : counted(types.length, 'event type');

/**
 * @param {Pick<WebhookEndpoint, 'mailbox_ids'>} endpoint
 * @param {import('./names.js').Names} names
 */
export function mailboxesOf({ mailbox_ids: ids }, names) {
  if (ids.includes(EVERY)) return 'Every mailbox';
  if (ids.length === 0) return 'None: only events of the organisation are sent';
  return ids.flatMap((id, index) => [index === 0 ? '' : ', ', foreign(names.nameOf(id))]);
}

export const PAYLOADS = {
  thin: { label: 'Ids only', about: 'The receiver reads the rest over the API, with its own rights.' },
  summary: {
    label: 'With a summary of the message',
    about: 'Also sender, recipients, subject and time, for messages that arrive, change or move.',
  },
};

/** @type {Readonly<Record<DeliveryStatus, StatusWords>>} */
export const DELIVERY_STATUSES = {
  scheduled: { label: 'Queued', tone: 'go', path: CLOCK, about: 'It has not been sent yet.' },
  in_flight: { label: 'Sending', tone: 'go', path: DOT, about: 'It is being sent now.' },
  succeeded: { label: 'Delivered', tone: 'good', path: CHECK, about: 'The endpoint took it.' },
  failed: { label: 'Failed', tone: 'bad', path: CROSS, about: 'The endpoint did not take it.' },
  blocked: {
    label: 'Blocked',
    tone: 'bad',
    path: CROSS,
    about: 'It was not sent, or led elsewhere. It is not tried again by itself.',
  },
  interrupted: {
    label: 'Interrupted',
    tone: 'ask',
    path: QUESTION,
    about: 'Whether the endpoint got it is not known.',
  },
  cancelled: { label: 'Cancelled', tone: 'over', path: DASH, about: 'It was not sent.' },
};

/** @param {Pick<Delivery, 'status'>} delivery */
export const deliveryBadge = ({ status }) => badgeOf(DELIVERY_STATUSES[status]);

/** @param {Pick<Delivery, 'status'>} delivery */
export const hasEnded = ({ status }) => status !== 'scheduled' && status !== 'in_flight';

/**
 * Why a delivery did not succeed, without a full stop, and what to do about it.
 * @type {Readonly<Record<string, readonly [why: string, next: string]>>}
 */
const ERRORS = {
  http_status: [
    'The endpoint answered with an error',
    'Look at the answer and at the logs of the receiver. Any 2xx status counts as delivered.',
  ],
  redirect: ['The endpoint answered with a redirect', 'Redirects are not followed. Set the final address.'],
  target_blocked: [
    'The address may not be called',
    'Webhooks go to public addresses on port 443. An operator can open others.',
  ],
  timeout: ['There was no whole answer in time', 'Answer first, and do the work afterwards.'],
  dns_failed: ['The host name could not be resolved', 'Check the address and its DNS records.'],
  connection_refused: [
    'The connection was refused',
    'Check that the receiver runs and its firewall allows it.',
  ],
  connection_reset: ['The connection was cut', 'Check the receiver and the proxies before it.'],
  tls_failed: [
    'No secure connection could be made',
    'Check the certificate: its names, its dates, its chain.',
  ],
  protocol_error: ['The answer was not valid HTTP', 'Check that a web server listens at the address.'],
  interrupted: ['The gateway stopped during the attempt', 'It is sent again under the same webhook-id.'],
  expired: ['It waited for more than 30 days', 'Its payload is no longer kept.'],
  endpoint_disabled: ['The endpoint was disabled', 'Enable the endpoint, then replay it.'],
  endpoint_removed: ['The endpoint was deleted', 'Deliveries of a deleted endpoint cannot be sent again.'],
};

/**
 * Null where nothing went wrong.
 * @param {Pick<Delivery, 'error'>} delivery
 */
export function errorOf({ error }) {
  if (error === null) return null;
  const [why, next] = ERRORS[error.code] ?? ['It did not succeed', 'Look at the answer.'];
  return { code: error.code, why, next };
}

const TRIGGERS = {
  event: 'As the event happened',
  retry: 'Tried again after a failure',
  test: 'Test',
  replay: 'Replay',
};

/** @param {Pick<Delivery, 'trigger'>} delivery */
export const triggerOf = ({ trigger }) => TRIGGERS[trigger];
