/** Placing a legal hold: its name, its reason and what it keeps. */
import { ApiError, keyPerRequest } from './api.js';
import { checkedIn, checkGroup } from './choices.js';
import { h } from './dom.js';
import { field, textArea, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { placeHold } from './hold-routes.js';
import { NEXT, targetTypeOf } from './hold-wording.js';
import { listMailboxes, listRemovedMailboxes } from './mailbox-routes.js';
import { backTo, cancelTo, formPage } from './page-parts.js';
import { listMembers } from './people-routes.js';

/** @import { Choice } from './choices.js' */
/** @import { HoldTarget, NewHold } from './audit-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

const ROUTE = '#/holds';

/**
 * `?target=` in the address names what is chosen at first.
 * @param {ViewContext} context
 * @param {URLSearchParams} query
 */
export async function holdNewView({ signal }, query) {
  const [members, mailboxes, removed] = await Promise.all([
    listMembers(signal),
    listMailboxes(signal),
    listRemovedMailboxes(signal),
  ]);
  const people = members.map(({ id, name, email }) => ({ value: id, label: foreign(name), about: email }));
  const boxes = [
    ...mailboxes.map(({ id, email }) => ({ value: id, label: foreign(email) })),
    ...removed.map(({ id, email }) => ({ value: id, label: foreign(email), about: 'Removed' })),
  ];
  const keyOf = keyPerRequest();
  const form = formOf(fieldsOf(people, boxes, query.getAll('target')), {
    button: 'Place the hold',
    beside: cancelTo(ROUTE),
    next: NEXT,
    act: async (values) => {
      const hold = holdIn(values);
      const { id } = await placeHold(hold, keyOf(hold));
      location.hash = `${ROUTE}/${id}`;
    },
  });
  return formPage('Place a legal hold', { back: backTo(ROUTE, 'Legal holds'), content: form });
}

/**
 * @param {readonly Choice[]} people
 * @param {readonly Choice[]} mailboxes
 * @param {readonly string[]} wanted
 */
function fieldsOf(people, mailboxes, wanted) {
  const chosen = new Set(wanted);
  const offered = new Set([...people, ...mailboxes].map(({ value }) => value));
  const others = textArea(
    'others',
    'Others by id, one in a line',
    { rows: 3, maxlength: 6_000, spellcheck: 'false', placeholder: 'chk_…', class: 'code' },
    'Drafts (drf_…), approvals (chk_…), and people or mailboxes that are gone (usr_…, mbx_…). The address of an approval ends in its id.',
  );
  const area = others.querySelector('textarea');
  if (area !== null) area.value = wanted.filter((id) => !offered.has(id)).join('\n');
  return [
    h(
      'section',
      { class: 'card' },
      field('name', 'Name', { maxlength: 200 }, 'What it is about, such as the name of a matter.'),
      textArea(
        'reason',
        'Reason',
        { maxlength: 1_000, required: true },
        'Kept encrypted. Those who manage legal holds see it.',
      ),
    ),
    h(
      'section',
      { class: 'card', 'aria-labelledby': 'kept' },
      h('h2', { id: 'kept' }, 'What it keeps'),
      h(
        'div',
        { class: 'check-groups' },
        checkGroup('targets', 'People', people, chosen),
        mailboxes.length === 0 ? null : checkGroup('targets', 'Mailboxes', mailboxes, chosen),
      ),
      others,
    ),
    h(
      'p',
      { class: 'quiet small' },
      'It counts as soon as it is placed. Two people are needed to release it: one asks, another one releases.',
    ),
  ];
}

/**
 * Throws `ApiError` for an id of another kind, and without a target.
 * @param {FormData} values
 * @returns {NewHold}
 */
function holdIn(values) {
  const pasted = textIn(values, 'others')
    .split(/[\s,;]+/)
    .filter((id) => id !== '');
  const ids = [...new Set([...checkedIn(values, 'targets'), ...pasted])];
  if (ids.length === 0)
    throw new ApiError('invalid_request', 'Choose at least one person, mailbox, draft or approval.');
  return {
    name: textIn(values, 'name').trim(),
    reason: textIn(values, 'reason').trim(),
    targets: ids.map(targetOf),
  };
}

/**
 * @param {string} id
 * @returns {HoldTarget}
 */
function targetOf(id) {
  const type = targetTypeOf(id);
  if (type === null)
    throw new ApiError(
      'invalid_request',
      `“${id.slice(0, 64)}” is no id of a person, a mailbox, a draft or an approval.`,
    );
  return { type, id };
}
