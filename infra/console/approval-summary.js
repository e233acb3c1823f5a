/** Recipients, attachments and warnings in one line: recipients outside come first, Bcc is shown like To and Cc. */
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { warningsMark } from './approval-warnings.js';
import { counted } from './wording.js';

/** @import { Approval, Recipient } from './payloads.d.ts' */

/** @type {readonly (readonly [Recipient['field'], string])[]} */
const FIELDS = [
  ['to', 'To'],
  ['cc', 'Cc'],
  ['bcc', 'Bcc'],
  ['envelope', 'In no field'],
];
/** Of each field, in a line. */
const MOST_NAMED = 3;

/**
 * `isWhole`: names all recipients; otherwise the rest is counted.
 * @param {Pick<Approval, 'confirmation' | 'warnings'>} approval
 * @param {{ isWhole?: boolean }} [options]
 */
export function summaryOf({ confirmation, warnings = [] }, { isWhole = false } = {}) {
  const { recipients = [], attachments } = confirmation ?? {};
  const parts = [
    ...FIELDS.flatMap(([field, label]) => {
      const those = recipients.filter((each) => each.field === field);
      return those.length === 0 ? [] : [[`${label} `, namesOf(those, isWhole ? those.length : MOST_NAMED)]];
    }),
    ...(attachments === undefined
      ? []
      : [attachments === 0 ? 'no attachments' : counted(attachments, 'attachment')]),
    ...(warnings.length === 0 ? [] : [warningsMark(warnings)]),
  ];
  if (parts.length === 0) return null;
  return h(
    'p',
    { class: 'summary' },
    parts.map((part, index) => [index === 0 ? '' : ' · ', h('span', null, part)]),
  );
}

/**
 * @param {readonly Recipient[]} recipients
 * @param {number} most
 */
function namesOf(recipients, most) {
  const sorted = [
    ...recipients.filter(({ outside }) => outside),
    ...recipients.filter(({ outside }) => !outside),
  ];
  const rest = sorted.slice(most);
  const outside = rest.filter((each) => each.outside).length;
  return [
    sorted.slice(0, most).map((each, index) => [index === 0 ? '' : ', ', nameOf(each)]),
    rest.length === 0 ? '' : ` and ${String(rest.length)} more`,
    outside === 0 ? '' : ` (${String(outside)} outside)`,
  ];
}

/** @param {Recipient} recipient */
const nameOf = ({ email, outside }) => [
  foreign(email),
  outside ? [' ', h('span', { class: 'outside' }, '(outside)')] : '',
];
