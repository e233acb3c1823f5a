/** The form that issues a token. */
import { issueToken } from './agent-routes.js';
import { keyPerRequest } from './api.js';
import { checkedIn, checkGroup, radios } from './choices.js';
import { h } from './dom.js';
import { field, selectField, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { presetField } from './token-presets.js';
import { NEXT } from './token-wording.js';

/** @import { IssuedToken, NewToken, Surface } from './setup-payloads.d.ts' */
/** @typedef {import('./payloads.d.ts').Child} Child */

const DAY_MS = 86_400_000;
/** The longest times are counted by the gateway's clock: a little less fits whatever this one says. */
const SPARE_MS = 3_600_000;

/** @type {readonly (readonly [value: string, label: string])[]} the first one is selected */
const DAYS = [
  ['30', 'In 30 days'],
  ['7', 'In 7 days'],
  ['90', 'In 90 days'],
];

/**
 * @param {object} options
 * @param {string} options.name what is in the field at first
 * @param {readonly (readonly [id: string, label: string])[]} options.principals whom it can be for; of one, nothing is asked
 * @param {string} options.preset chosen at first
 * @param {readonly { id: string, email: string }[]} options.mailboxes it can be limited to these; of none, nothing is asked
 * @param {Child} [options.beside]
 * @param {(issued: IssuedToken) => void} options.onIssued
 */
export function tokenForm({ name, principals, preset, mailboxes, beside = null, onIssued }) {
  const keyOf = keyPerRequest();
  // The end is part of the request: repeated after a lost answer it has to be the same one.
  const madeAt = Date.now();
  const [only] = principals;
  return formOf(
    [
      field('name', 'Name', { maxlength: 100, value: name }, 'For the people who look after it.'),
      principals.length > 1 ? selectField('principal_id', 'For', principals) : null,
      surfaceField(),
      presetField(preset),
      mailboxesField(mailboxes),
    ],
    {
      button: 'Issue the token',
      beside,
      next: NEXT,
      act: async (values) => {
        const body = tokenIn(values, only?.[0], madeAt);
        onIssued(await issueToken(body, keyOf(body)));
      },
    },
  );
}

const surfaceField = () =>
  radios(
    'surface',
    'For which interface',
    [
      {
        value: 'mcp',
        label: 'MCP',
        about: 'An assistant or another MCP client.',
        content: selectField('days_mcp', 'It ends', DAYS),
      },
      {
        value: 'rest',
        label: 'REST',
        about: 'A program that calls the API.',
        content: selectField('days_rest', 'It ends', [...DAYS, ['365', 'In one year']]),
      },
    ],
    'mcp',
  );

/** @param {readonly { id: string, email: string }[]} mailboxes */
function mailboxesField(mailboxes) {
  if (mailboxes.length === 0) return null;
  const choices = mailboxes.map(({ id, email }) => ({ value: id, label: foreign(email) }));
  return radios(
    'which_mailboxes',
    'On which mailboxes',
    [
      { value: 'all', label: 'Every mailbox with a grant', about: 'Also those that come later.' },
      {
        value: 'some',
        label: 'Selected mailboxes',
        content: h('div', null, checkGroup('mailbox_ids', 'Mailboxes', choices, new Set())),
      },
    ],
    'all',
  );
}

/**
 * @param {FormData} values
 * @param {string | undefined} only
 * @param {number} madeAt the days are counted from then
 * @returns {NewToken}
 */
function tokenIn(values, only, madeAt) {
  const surface = /** @type {Surface} */ (textIn(values, 'surface'));
  const principal = textIn(values, 'principal_id') || only;
  const days = Number(textIn(values, `days_${surface}`));
  const isLimited = textIn(values, 'which_mailboxes') === 'some';
  return {
    name: textIn(values, 'name').trim(),
    ...(principal === undefined ? {} : { principal_id: principal }),
    surface,
    preset: textIn(values, 'preset'),
    ...(isLimited ? { mailbox_ids: checkedIn(values, 'mailbox_ids') } : {}),
    expires_at: new Date(madeAt + days * DAY_MS - SPARE_MS).toISOString(),
  };
}
