/** What was sent to an endpoint and what it answered. */
import { h } from './dom.js';
import { foreign, foreignLines } from './foreign-text.js';
import { TEST_EVENT } from './webhook-events.js';
import { errorOf } from './webhook-wording.js';

/** @import { Delivery, WebhookEndpoint } from './payloads.d.ts' */

const WITH_SUMMARY = ['message.received', 'message.updated', 'message.moved'];

/**
 * @param {Delivery} delivery
 * @param {WebhookEndpoint | null} endpoint null once it was deleted
 */
export const requestSection = (delivery, endpoint) =>
  h(
    'section',
    { class: 'card', 'aria-labelledby': `request-${delivery.id}` },
    h(
      'h2',
      { id: `request-${delivery.id}`, tabindex: -1 },
      delivery.started_at === null ? 'To be sent' : 'Request',
    ),
    endpoint?.url == null ? null : h('p', { class: 'code' }, 'POST ', foreign(endpoint.url)),
    h('h3', null, 'Headers'),
    lines('Headers', headersOf(delivery)),
    h('p', { class: 'quiet small' }, 'And webhook-signature, which is made for each attempt and not stored.'),
    h('h3', null, 'Body'),
    lines('Body', JSON.stringify(bodyOf(delivery), null, 2)),
    notesOn(delivery, endpoint).map((note) => h('p', { class: 'quiet small' }, note)),
  );

/**
 * @param {string} label
 * @param {string} text
 */
const lines = (label, text) =>
  h('div', { class: 'lines code', tabindex: 0, role: 'group', 'aria-label': label }, foreignLines(text));

/** @param {Delivery} delivery */
function headersOf({ event_id: id, started_at: startedAt }) {
  const timestamp =
    startedAt === null ? 'the time of the attempt' : String(Math.floor(Date.parse(startedAt) / 1_000));
  return [`content-type: application/json`, `webhook-id: ${id}`, `webhook-timestamp: ${timestamp}`].join(
    '\n',
  );
}

/** @param {Delivery} delivery */
function bodyOf({ event_type: eventType, endpoint_id: endpointId, withheld, payload }) {
  const { type, timestamp, data, sequence } = payload;
  if (withheld) return { type, sequence, withheld: true };
  if (eventType === TEST_EVENT) return { type, timestamp, data: data ?? { endpoint_id: endpointId } };
  return { type, timestamp, data, sequence };
}

/**
 * @param {Delivery} delivery
 * @param {WebhookEndpoint | null} endpoint
 */
function notesOn({ event_type: type, withheld }, endpoint) {
  if (withheld)
    return ['The person behind the endpoint may not see the event, so only its type and number were sent.'];
  return endpoint?.payload === 'summary' && WITH_SUMMARY.includes(type)
    ? ['The summary of the message goes with it, in data.message. It is not shown here.']
    : [];
}

/** @param {Delivery} delivery */
export function answerSection(delivery) {
  const {
    started_at: startedAt,
    http_status: status,
    duration_ms: duration,
    response_excerpt: excerpt,
  } = delivery;
  const error = errorOf(delivery);
  return h(
    'section',
    { class: 'card', 'aria-labelledby': `answer-${delivery.id}` },
    h('h2', { id: `answer-${delivery.id}`, tabindex: -1 }, 'Answer'),
    status === null
      ? h('p', { class: 'quiet' }, startedAt === null ? 'None: nothing was sent.' : 'None.')
      : h(
          'p',
          null,
          h('strong', null, `HTTP ${String(status)}`),
          duration === null ? '' : ` after ${msText(duration)}`,
        ),
    status === null && duration !== null
      ? h('p', { class: 'quiet small' }, `Ended after ${msText(duration)}`)
      : null,
    error === null
      ? null
      : h(
          'div',
          { class: 'notice bad' },
          h('p', { class: 'notice-title' }, `${error.why}.`),
          h('p', null, error.next),
          h('p', { class: 'quiet small' }, 'Code ', h('code', null, error.code)),
        ),
    excerpt === null ? null : [h('h3', null, 'Start of the body'), lines('Start of the body', excerpt)],
  );
}

/**
 * `87 ms`, `1.4 s`.
 * @param {number} ms
 */
export const msText = (ms) => (ms < 1_000 ? `${String(ms)} ms` : `${String(Math.round(ms / 100) / 10)} s`);
