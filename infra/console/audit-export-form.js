/** What an export is asked for: the range, what proves it, and which sealed texts are opened. */
import { trailAddress } from './audit-filter.js';
import { OUTCOMES } from './audit-wording.js';
import { radios } from './choices.js';
import { disclosureField, disclosureIn } from './disclosure-field.js';
import { h } from './dom.js';
import { eventWords } from './event-wording.js';
import { field, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { fact } from './page-parts.js';

/** @import { TrailFilter } from './audit-payloads.d.ts' */
/** @typedef {import('./names.js').Names} Names */

/** What a file of a mode proves. */
const MODES = {
  complete: {
    label: 'Complete',
    about: 'Every line with its data. Proves that no line of the range is missing, added, moved or altered.',
  },
  skeleton: {
    label: 'Complete for the filter',
    about: 'Other lines stand in it without their data. Proves that no line that fits the filter is missing.',
  },
  sparse: {
    label: 'Only the lines that fit',
    about: 'Other lines are hidden behind hashes. Proves the lines it shows, and not that no other one fits.',
  },
};

/**
 * @param {TrailFilter} filter
 * @returns {Record<string, string>} as the query of `GET /audit/export`; an approval is in the signed lines, other resources are not
 */
function exportFilter({ actor, type, mailbox_id, request_id, outcome, resource }) {
  const isApproval = resource.startsWith('chk_');
  const named = {
    ...{ actor, type, mailbox_id, request_id, outcome },
    ...(isApproval ? { approval_id: resource } : { resource }),
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== ''));
}

/**
 * @param {TrailFilter} filter
 * @param {Names} names
 */
export const exportFields = (filter, names) => [
  h('section', { class: 'card' }, whichPart(filter, names)),
  h('section', { class: 'card' }, formatField(filter)),
  h('section', { class: 'card' }, disclosureField(names, 'none')),
];

/**
 * @param {TrailFilter} filter
 * @param {Names} names
 */
const whichPart = (filter, names) => [
  h('h2', null, 'Which lines'),
  filterFacts(filter, names),
  h(
    'div',
    { class: 'trail-filter export-range' },
    field('from_seq', 'First line', {
      type: 'number',
      min: 1,
      step: 1,
      required: false,
      inputmode: 'numeric',
    }),
    field('to_seq', 'Last line', { type: 'number', min: 1, step: 1, required: false, inputmode: 'numeric' }),
    timeField('from', 'From (UTC)', filter.from),
    timeField('to', 'Before (UTC)', filter.to),
  ),
  h(
    'p',
    { class: 'quiet small' },
    'Left empty: from the first line to the last. What is not sealed yet is sealed first.',
  ),
];

/**
 * @param {string} name
 * @param {string} label
 * @param {string} value
 */
const timeField = (name, label, value) =>
  field(name, label, { type: 'datetime-local', step: 1, required: false, value: value.slice(0, 19) });

/**
 * @param {TrailFilter} filter
 * @param {Names} names
 */
function filterFacts(filter, names) {
  const { type, actor, mailbox_id: mailboxId, outcome, resource, request_id: requestId } = filter;
  const words = Object.entries(OUTCOMES).find(([each]) => each === outcome)?.[1].label ?? outcome;
  const facts = [
    type === '' ? null : fact('What happened', foreign(eventWords(type))),
    actor === '' ? null : fact('Who', foreign(names.nameOf(actor))),
    mailboxId === '' ? null : fact('Mailbox', foreign(names.nameOf(mailboxId))),
    outcome === '' ? null : fact('Outcome', foreign(words)),
    resource === '' ? null : fact('Resource', h('code', null, foreign(resource))),
    requestId === '' ? null : fact('Request', h('code', null, foreign(requestId))),
  ].filter((each) => each !== null);
  const change = h('a', { href: trailAddress(filter) }, 'Change the filter');
  return facts.length === 0
    ? h('p', null, 'Every line. ', change)
    : [h('dl', { class: 'facts' }, facts), h('p', { class: 'small' }, change)];
}

/** @param {TrailFilter} filter */
function formatField(filter) {
  const named = Object.keys(exportFilter(filter));
  const isDerived = named.includes('outcome') || named.includes('resource');
  return radios(
    'format',
    'File',
    [
      {
        value: 'jsonl',
        label: 'Audit file',
        about: 'Anyone can verify it offline, with the public key and one small program.',
        content: named.length === 0 ? told('complete') : isDerived ? derived() : modeField(),
      },
      { value: 'csv', label: 'CSV', about: 'For reading in a spreadsheet. It proves nothing.' },
    ],
    'jsonl',
  );
}

/** @param {keyof typeof MODES} mode */
const told = (mode) =>
  h(
    'p',
    { class: 'quiet small' },
    h('span', { class: 'strong' }, `${MODES[mode].label}. `),
    MODES[mode].about,
  );

const derived = () => [
  told('sparse'),
  h(
    'p',
    { class: 'quiet small' },
    'An outcome or a resource is not part of the signed lines, so a file cannot prove more with it.',
  ),
];

const modeField = () =>
  radios(
    'mode',
    'What it proves',
    [
      { value: 'skeleton', ...MODES.skeleton },
      { value: 'sparse', ...MODES.sparse },
    ],
    'skeleton',
  );

/**
 * The query of `GET /audit/export`. Throws `ApiError` without the reason of a disclosure.
 * @param {TrailFilter} filter
 * @param {FormData} values
 * @returns {Record<string, string>}
 */
export function exportQuery(filter, values) {
  const format = textIn(values, 'format');
  const given = {
    ...exportFilter(filter),
    ...disclosureIn(values),
    format,
    from_seq: textIn(values, 'from_seq'),
    to_seq: textIn(values, 'to_seq'),
    from: utc(textIn(values, 'from')),
    to: utc(textIn(values, 'to')),
    mode: format === 'jsonl' ? textIn(values, 'mode') : '',
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
}

/** @param {string} local */
const utc = (local) => (local === '' ? '' : new Date(`${local}Z`).toISOString());
