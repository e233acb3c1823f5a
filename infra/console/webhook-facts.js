/** How an endpoint answers, and its settings. */
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { fact } from './page-parts.js';
import { countdown, exactTime, pastTime } from './times.js';
import { EVERY } from './webhook-events.js';
import { eventsOf, mailboxesOf, PAYLOADS } from './webhook-wording.js';

/** @import { WebhookEndpoint } from './payloads.d.ts' */

const MOST_LISTED = 6;

/** @param {string | null} instant */
const timeOr = (instant) => (instant === null ? 'Never' : pastTime(instant));

/** @param {WebhookEndpoint} endpoint */
export function healthCard(endpoint) {
  const { next_attempt_not_before: restsUntil } = endpoint;
  const rests = restsUntil !== null && Date.parse(restsUntil) > Date.now();
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'health' },
    h('h2', { id: 'health' }, 'Health'),
    h(
      'dl',
      { class: 'facts narrow-facts' },
      fact('Last success', timeOr(endpoint.last_success_at)),
      fact('Last failure', timeOr(endpoint.last_failure_at)),
      fact('Failures in a row', String(endpoint.consecutive_failures)),
      rests ? fact('Rests for', countdown(restsUntil)) : null,
      fact('Events queued', String(endpoint.last_sequence)),
    ),
    rests
      ? h(
          'p',
          { class: 'quiet small' },
          'It failed often, or asked for a pause. Nothing is lost; one attempt follows at ',
          exactTime(restsUntil),
          '.',
        )
      : null,
  );
}

/**
 * @param {WebhookEndpoint} endpoint
 * @param {import('./names.js').Names} names
 */
export const settingsCard = (endpoint, names) =>
  h(
    'section',
    { class: 'card', 'aria-labelledby': 'settings' },
    h('h2', { id: 'settings' }, 'Settings'),
    h(
      'dl',
      { class: 'facts narrow-facts' },
      fact('Events', eventList(endpoint)),
      fact('Mailboxes', mailboxesOf(endpoint, names)),
      fact('What is sent', PAYLOADS[endpoint.payload].label),
      fact('Secret', secretOf(endpoint)),
      fact('Rights of', foreign(names.nameOf(endpoint.rights_of))),
      fact('Added', exactTime(endpoint.created_at)),
    ),
  );

/** @param {WebhookEndpoint} endpoint */
const eventList = (endpoint) =>
  endpoint.event_types.includes(EVERY)
    ? eventsOf(endpoint)
    : endpoint.event_types.length <= MOST_LISTED
      ? codes(endpoint.event_types)
      : h('details', null, h('summary', null, eventsOf(endpoint)), codes(endpoint.event_types));

/** @param {readonly string[]} types */
const codes = (types) =>
  h(
    'ul',
    { class: 'plain-list' },
    types.map((type) => h('li', null, h('code', null, type))),
  );

/** @param {WebhookEndpoint} endpoint */
function secretOf({ secret_hint: hint, previous_secret_expires_at: until }) {
  return [
    hint === null ? 'Erased' : ['Ends in ', h('code', null, foreign(hint))],
    until === null
      ? null
      : h('p', { class: 'quiet small' }, 'The one before also signs until ', exactTime(until)),
  ];
}
