/** The filter of the audit trail: kept in the address, shown as a form. */
import { h } from './dom.js';
import { EVENT_GROUPS, eventWords } from './event-wording.js';
import { foreignPlain } from './foreign-text.js';
import { OUTCOMES } from './audit-wording.js';

/** @import { TrailFilter } from './audit-payloads.d.ts' */
/** @typedef {import('./names.js').Names} Names */

/** @type {readonly (keyof TrailFilter)[]} */
const FIELDS = ['from', 'to', 'type', 'actor', 'mailbox_id', 'outcome', 'resource', 'request_id'];
const TIMES = ['from', 'to'];

/**
 * @param {URLSearchParams} query
 * @returns {TrailFilter}
 */
export function filterIn(query) {
  const given = (/** @type {string} */ name) => query.get(name) ?? '';
  return {
    from: instantOr(given('from')),
    to: instantOr(given('to')),
    actor: given('actor'),
    type: given('type'),
    mailbox_id: given('mailbox_id'),
    resource: given('resource'),
    outcome: given('outcome'),
    request_id: given('request_id'),
  };
}

/**
 * A time of the address in UTC; '' for anything else.
 * @param {string} text
 */
function instantOr(text) {
  const time = Date.parse(text);
  return Number.isNaN(time) ? '' : new Date(time).toISOString();
}

/**
 * What is set, as the query of `GET /audit` and of the address.
 * @param {TrailFilter} filter
 * @returns {Record<string, string>}
 */
export function queryOf(filter) {
  /** @type {Record<string, string>} */
  const query = {};
  for (const name of FIELDS) if (filter[name] !== '') query[name] = filter[name];
  return query;
}

/**
 * @param {TrailFilter | Partial<TrailFilter>} filter
 * @param {string} [rest]
 */
export function trailAddress(filter, rest = '') {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== '')).toString();
  return `#/audit${rest}${query === '' ? '' : `?${query}`}`;
}

/**
 * @param {TrailFilter} filter
 * @param {{ names: Names, mailboxes: readonly { id: string, email: string }[] }} known
 * @param {(filter: TrailFilter) => void} onChange
 */
export function filterForm(filter, { names, mailboxes }, onChange) {
  const boxes = mailboxes.map(({ id, email }) => /** @type {const} */ ([id, foreignPlain(email)]));
  const form = h(
    'form',
    { 'aria-label': 'Filter' },
    h(
      'div',
      { class: 'trail-filter' },
      choice('type', 'What happened', filter.type, typeOptions(filter.type)),
      choice('actor', 'Who', filter.actor, options('Everybody', names.principals(), filter.actor, names)),
      choice('mailbox_id', 'Mailbox', filter.mailbox_id, options('Any', boxes, filter.mailbox_id, names)),
      choice('outcome', 'Outcome', filter.outcome, outcomeOptions(filter.outcome)),
      timeFilter('from', 'From (UTC)', filter.from),
      timeFilter('to', 'Before (UTC)', filter.to),
      textFilter('resource', 'Resource or approval', filter.resource, 'chk_…, drf_…, tok_…'),
      textFilter('request_id', 'Request', filter.request_id, 'req_…'),
    ),
    clearButton(() => {
      clear(form);
      onChange(filterOf(form));
    }),
  );
  form.addEventListener('change', () => {
    onChange(filterOf(form));
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    onChange(filterOf(form));
  });
  const isOpen = matchMedia('(min-width: 40rem)').matches || Object.keys(queryOf(filter)).length > 0;
  return h('details', { class: 'card', open: isOpen }, h('summary', null, 'Filter'), form);
}

/** @param {() => void} act */
const clearButton = (act) =>
  h('button', { type: 'button', class: 'link', on: { click: act } }, 'Clear the filter');

/** @param {HTMLFormElement} form */
function clear(form) {
  for (const field of form.elements)
    if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) field.value = '';
}

/**
 * @param {HTMLFormElement} form
 * @returns {TrailFilter}
 */
function filterOf(form) {
  const values = new FormData(form);
  const query = new URLSearchParams();
  for (const name of FIELDS) {
    const value = values.get(name);
    if (typeof value === 'string')
      query.set(name, TIMES.includes(name) && value !== '' ? `${value}Z` : value.trim());
  }
  return filterIn(query);
}

/**
 * @param {string} name
 * @param {string} label
 * @param {import('./payloads.d.ts').Child} control
 */
const labelled = (name, label, control) =>
  h('div', { class: 'field' }, h('label', { for: `filter-${name}` }, label), control);

/**
 * @param {string} name
 * @param {string} label
 * @param {string} value
 * @param {import('./payloads.d.ts').Child} content
 */
function choice(name, label, value, content) {
  const select = h('select', { id: `filter-${name}`, name }, content);
  select.value = value;
  return labelled(name, label, select);
}

/**
 * @param {string} name
 * @param {string} label
 * @param {string} value
 * @param {string} placeholder
 */
const textFilter = (name, label, value, placeholder) =>
  labelled(
    name,
    label,
    h('input', {
      ...{ id: `filter-${name}`, name, value, placeholder, class: 'code', maxlength: 100 },
      ...{ autocomplete: 'off', spellcheck: 'false' },
    }),
  );

/**
 * @param {string} name
 * @param {string} label
 * @param {string} value
 */
const timeFilter = (name, label, value) =>
  labelled(
    name,
    label,
    h('input', { id: `filter-${name}`, name, type: 'datetime-local', step: 1, value: value.slice(0, 19) }),
  );

/** @param {string} chosen */
function typeOptions(chosen) {
  const isKnown = EVENT_GROUPS.some(({ events }) => events.some(([type]) => type === chosen));
  return [
    h('option', { value: '' }, 'Everything'),
    isKnown || chosen === '' ? null : h('option', { value: chosen }, eventWords(chosen)),
    EVENT_GROUPS.map(({ label, events }) =>
      h(
        'optgroup',
        { label },
        events.map(([type, words]) => h('option', { value: type }, words)),
      ),
    ),
  ];
}

/** @param {string} chosen */
const outcomeOptions = (chosen) => [
  h('option', { value: '' }, 'Any'),
  Object.entries(OUTCOMES).map(([value, { label }]) =>
    h('option', { value, selected: value === chosen }, label),
  ),
];

/**
 * Also what the address names and no list has.
 * @param {string} all
 * @param {readonly (readonly [id: string, label: string])[]} known
 * @param {string} chosen
 * @param {Names} names
 */
const options = (all, known, chosen, names) => [
  h('option', { value: '' }, all),
  known.map(([id, label]) => h('option', { value: id }, label)),
  chosen === '' || known.some(([id]) => id === chosen)
    ? null
    : h('option', { value: chosen }, foreignPlain(names.nameOf(chosen))),
];
