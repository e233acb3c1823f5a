/** The webhook endpoints of the organisation and how they answer. */
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { emptyList, liveList } from './live-list.js';
import { listEndpoints } from './routes.js';
import { pastTime } from './times.js';
import { addressOf, endpointBadge, eventsOf } from './webhook-wording.js';
import { counted } from './wording.js';

/** @import { WebhookEndpoint } from './payloads.d.ts' */

/** An organisation has at most 100. */
const ALL = '200';

/** @param {import('./main.js').ViewContext} context */
export async function webhookListView({ names, signal }) {
  const list = await liveList({
    signal,
    label: 'Webhook endpoints',
    load: async () => (await listEndpoints({ limit: ALL }, signal)).items,
    rowOf,
    empty: () => emptyList('No endpoints yet', 'Add the address of a server, and choose what it is told.'),
  });
  const add = names.may('webhooks:manage')
    ? h('a', { class: 'button primary', href: '#/webhooks/new' }, 'Add endpoint')
    : null;
  return {
    title: 'Webhooks',
    content: [
      h('div', { class: 'heading' }, h('h1', { tabindex: -1 }, 'Webhooks'), add),
      h(
        'p',
        { class: 'quiet lead' },
        'The gateway tells your servers what happens, by signed POST requests.',
      ),
      list,
    ],
  };
}

/** @param {WebhookEndpoint} endpoint */
const rowOf = (endpoint) =>
  h(
    'li',
    { class: 'entry', 'data-id': endpoint.id },
    h(
      'div',
      { class: 'entry-what' },
      h('a', { href: `#/webhooks/${endpoint.id}` }, foreign(addressOf(endpoint))),
      endpoint.description === null ? null : h('p', null, foreign(endpoint.description)),
      h('p', { class: 'quiet small' }, eventsOf(endpoint), ' · ', lately(endpoint)),
    ),
    h('div', { class: 'entry-state' }, endpointBadge(endpoint)),
  );

/** @param {WebhookEndpoint} endpoint */
function lately({ last_success_at: success, last_failure_at: failure, consecutive_failures: failures }) {
  if (failures > 0 && failure !== null)
    return [`${counted(failures, 'failure')} in a row, the last `, pastTime(failure)];
  return success === null ? 'Nothing was delivered yet' : ['Last delivered ', pastTime(success)];
}
