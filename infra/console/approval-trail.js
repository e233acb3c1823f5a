/** The audit trail of an operation, oldest first. */
import { h } from './dom.js';
import { eventWords } from './event-wording.js';
import { foreign, foreignLines } from './foreign-text.js';
import { exactTime } from './times.js';

/** @import { AuditLine } from './payloads.d.ts' */
/** @typedef {import('./names.js').Names} Names */

/**
 * @param {readonly AuditLine[]} events
 * @param {Names} names
 */
export function trailSection(events, names) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'trail' },
    h('h2', { id: 'trail', tabindex: -1 }, 'Trail'),
    h(
      'ol',
      { class: 'trail' },
      events.map((line) => lineOf(line, names)),
    ),
  );
}

/**
 * @param {AuditLine} line
 * @param {Names} names
 */
function lineOf({ type, occurred_at: at, actor, surface, data }, names) {
  return h(
    'li',
    null,
    h('p', { class: 'trail-what' }, eventWords(type, data)),
    h(
      'p',
      { class: 'quiet small' },
      type === 'OperationDecided' ? 'by the policy' : actorOf({ actor, surface }, names),
      ' · ',
      exactTime(at),
    ),
    h(
      'details',
      null,
      h('summary', null, 'Recorded as ', h('code', null, type)),
      h('div', { class: 'lines code' }, foreignLines(JSON.stringify(data, readable, 2))),
    ),
  );
}

/** Fields that hold JSON as text, written by the gateway. */
const JSON_TEXTS = new Set(['manifest', 'warnings']);

/**
 * Parses those; any other text stays text, even if it looks like JSON.
 * @param {string} key
 * @param {unknown} value
 * @returns {unknown}
 */
export function readable(key, value) {
  if (typeof value !== 'string' || !JSON_TEXTS.has(key)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/**
 * @param {Pick<AuditLine, 'actor' | 'surface'>} line
 * @param {Names} names
 */
export const actorOf = ({ actor, surface }, names) => [
  actor.type === 'system' ? 'the gateway' : foreign(names.nameOf(actor.id)),
  actor.type === 'delegated' ? ' by a token' : '',
  surface === 'system' ? '' : ` over ${surface}`,
];
