/** The webhook endpoints of the organisation and how they answer. */
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { keepFresh } from './keep-fresh.js';
import { listEndpoints } from './routes.js';
import { pastTime } from './times.js';
import { addressOf, endpointBadge, eventsOf } from './webhook-wording.js';
import { counted } from './wording.js';

/** @import { WebhookEndpoint } from './payloads.d.ts' */

/** An organisation has at most 100. */
const ALL = '200';

/** @param {import('./main.js').ViewContext} context */
export async function webhookListView({ names, signal }) {
  const list = h('div');
  const problem = h('div');
  let shown = '';
  const refresh = async () => {
    const { items } = await listEndpoints({ limit: ALL }, signal);
    const signature = JSON.stringify(items);
    // A focused row stays as it is while nothing changes.
    if (signature === shown) return;
    shown = signature;
    const focused = document.activeElement?.getAttribute('data-id');
    list.replaceChildren(
      items.length === 0
        ? empty()
        : h('ul', { class: 'entries', 'aria-label': 'Webhook endpoints' }, items.map(rowOf)),
    );
    const rows = [...list.querySelectorAll('a')];
    if (focused != null) rows.find(({ dataset }) => dataset['id'] === focused)?.focus();
  };
  await refresh();
  keepFresh(signal, problem, refresh);
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
      problem,
      list,
    ],
  };
}

/** @param {WebhookEndpoint} endpoint */
const rowOf = (endpoint) =>
  h(
    'li',
    { class: 'entry' },
    h(
      'div',
      { class: 'entry-what' },
      h('a', { href: `#/webhooks/${endpoint.id}`, 'data-id': endpoint.id }, foreign(addressOf(endpoint))),
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

const empty = () =>
  h(
    'div',
    { class: 'empty' },
    h('p', { class: 'empty-title' }, 'No endpoints yet'),
    h('p', { class: 'quiet' }, 'Add the address of a server, and choose what it is told.'),
  );
