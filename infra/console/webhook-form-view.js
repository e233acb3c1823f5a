/** Adding a webhook endpoint, and changing one. */
import { ApiError, keyPerRequest } from './api.js';
import { checkedIn, checkGroup, radios } from './choices.js';
import { h } from './dom.js';
import { field, textArea, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { backTo, cancelTo, formPage } from './page-parts.js';
import { changeEndpoint, createEndpoint, readEndpoint } from './routes.js';
import { EVENT_GROUPS, EVERY } from './webhook-events.js';
import { secretPanel } from './webhook-secret.js';
import { addressOf, NEXT, PAYLOADS } from './webhook-wording.js';

/** @import { EndpointSettings, WebhookEndpoint } from './payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */
/** @typedef {import('./names.js').Names} Names */
/** @typedef {Pick<WebhookEndpoint, keyof EndpointSettings>} Given */

/** @type {Given} */
const NEW = { url: null, description: null, event_types: [], mailbox_ids: [], payload: 'thin' };

/**
 * The view becomes that of the secret once the endpoint exists.
 * @param {ViewContext} context
 */
export function endpointNewView({ names }) {
  const keyOf = keyPerRequest();
  const place = h('div', { class: 'view form-page' });
  const form = formOf(fieldsOf(NEW, names), {
    button: 'Add endpoint',
    beside: cancelTo('#/webhooks'),
    next: NEXT,
    act: async (values) => {
      const settings = settingsIn(values);
      const made = await createEndpoint(settings, keyOf(settings));
      const panel = secretPanel(made, 'Signing secret');
      place.replaceChildren(
        h('h1', { tabindex: -1 }, 'Endpoint added'),
        h('p', { class: 'quiet lead' }, 'Events from now on are sent to ', foreign(addressOf(made)), '.'),
        panel,
        h('p', null, h('a', { class: 'button primary', href: `#/webhooks/${made.id}` }, 'Open the endpoint')),
      );
      place.querySelector('h1')?.focus();
    },
  });
  place.append(backTo('#/webhooks', 'Webhooks'), h('h1', { tabindex: -1 }, 'Add endpoint'), form);
  return Promise.resolve({ title: 'Add endpoint', content: [place] });
}

/**
 * @param {ViewContext} context
 * @param {string} id
 */
export async function endpointEditView({ names, signal }, id) {
  const endpoint = await readEndpoint(id, signal);
  const keyOf = keyPerRequest();
  const route = `#/webhooks/${id}`;
  const form = formOf(fieldsOf(endpoint, names), {
    button: 'Save changes',
    beside: cancelTo(route),
    next: NEXT,
    act: async (values) => {
      const changes = changesOf(endpoint, settingsIn(values));
      if (Object.keys(changes).length > 0) await changeEndpoint(endpoint, changes, keyOf(changes));
      location.hash = route;
    },
  });
  return formPage('Change endpoint', { back: backTo(route, 'Endpoint'), content: form });
}

/**
 * @param {Given} given
 * @param {Names} names
 */
const fieldsOf = (given, names) => [
  h('section', { class: 'card' }, whereFields(given)),
  h('section', { class: 'card' }, eventsField(given)),
  h('section', { class: 'card' }, mailboxesField(given, names), payloadField(given)),
];

/** @param {Given} given */
const whereFields = ({ url, description }) => [
  field(
    'url',
    'Address',
    {
      type: 'url',
      inputmode: 'url',
      maxlength: 2_000,
      spellcheck: 'false',
      autocomplete: 'off',
      value: url,
    },
    'An https address on the public internet. Redirects are not followed.',
  ),
  described(
    textArea(
      'description',
      'Description',
      { maxlength: 500, rows: 2 },
      'Optional. For the people who manage it.',
    ),
    description,
  ),
];

/**
 * @param {HTMLElement} element
 * @param {string | null} text
 */
function described(element, text) {
  const area = element.querySelector('textarea');
  if (area !== null) area.value = text ?? '';
  return element;
}

/** @param {Given} given */
function eventsField({ event_types: types }) {
  const chosen = new Set(types);
  const groups = EVENT_GROUPS.map(({ label, events }) =>
    checkGroup(
      'event_types',
      label,
      events.map(([type, about]) => ({ value: type, label: h('code', null, type), about })),
      chosen,
    ),
  );
  return radios(
    'which_events',
    'Events',
    [
      { value: EVERY, label: 'Every event', about: 'Also event types that come later.' },
      { value: 'some', label: 'Selected events', content: h('div', { class: 'check-groups' }, groups) },
    ],
    chosen.has(EVERY) ? EVERY : 'some',
  );
}

/**
 * @param {Given} given
 * @param {Names} names
 */
function mailboxesField({ mailbox_ids: ids }, names) {
  const readable = names.mailboxesWith('messages:read').map(({ id }) => id);
  const offered = [...new Set([...readable, ...ids.filter((id) => id !== EVERY)])];
  const choices = offered.map((id) => ({
    value: id,
    label: foreign(names.nameOf(id)),
    ...(readable.includes(id) ? {} : { about: 'You may not read it.' }),
  }));
  const none = h(
    'p',
    { class: 'quiet small' },
    'You can read no mailbox. Events of the organisation are sent.',
  );
  const every = {
    value: EVERY,
    label: 'Every mailbox',
    about: 'What you may not read is left out of what is sent.',
  };
  const some = {
    value: 'some',
    label: 'Selected mailboxes',
    about: 'Without any, only events of the organisation are sent.',
    content: offered.length === 0 ? none : checkGroup('mailbox_ids', 'All of these', choices, new Set(ids)),
  };
  const isEvery = ids.includes(EVERY);
  return radios(
    'which_mailboxes',
    'Mailboxes',
    names.hasRole('admin') || isEvery ? [every, some] : [some],
    isEvery ? EVERY : 'some',
  );
}

/** @param {Given} given */
const payloadField = ({ payload }) =>
  radios(
    'payload',
    'What is sent',
    Object.entries(PAYLOADS).map(([value, words]) => ({ value, ...words })),
    payload,
  );

/**
 * Throws `ApiError` without an event type.
 * @param {FormData} values
 * @returns {EndpointSettings}
 */
function settingsIn(values) {
  const description = textIn(values, 'description').trim();
  const events = textIn(values, 'which_events') === EVERY ? [EVERY] : checkedIn(values, 'event_types');
  if (events.length === 0) throw new ApiError('invalid_request', 'Choose at least one event type.');
  return {
    url: textIn(values, 'url').trim(),
    description: description === '' ? null : description,
    event_types: events,
    mailbox_ids: textIn(values, 'which_mailboxes') === EVERY ? [EVERY] : checkedIn(values, 'mailbox_ids'),
    payload: textIn(values, 'payload') === 'summary' ? 'summary' : 'thin',
  };
}

/**
 * Only what differs: whoever changes more than the description answers for what is sent.
 * @param {Given} before
 * @param {EndpointSettings} after
 * @returns {Partial<EndpointSettings>}
 */
function changesOf(before, after) {
  const isSame = (/** @type {readonly string[]} */ one, /** @type {readonly string[]} */ other) =>
    one.length === other.length && one.every((each) => other.includes(each));
  return {
    ...(before.url === after.url ? {} : { url: after.url }),
    ...(before.description === after.description ? {} : { description: after.description }),
    ...(isSame(before.event_types, after.event_types) ? {} : { event_types: after.event_types }),
    ...(isSame(before.mailbox_ids, after.mailbox_ids) ? {} : { mailbox_ids: after.mailbox_ids }),
    ...(before.payload === after.payload ? {} : { payload: after.payload }),
  };
}
