/** Rotate, replay and delete: each asks first and states the consequence. Pause and resume do not, they can be undone. */
import { keyPerRequest, newKey } from './api.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { field, selectField, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { changeEndpoint, deleteEndpoint, replayEndpoint, rotateSecret } from './routes.js';
import { addressOf, NEXT } from './webhook-wording.js';

/** @import { ShownSecret, WebhookEndpoint } from './payloads.d.ts' */

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
const DAY_MS = DAY_SECONDS * 1_000;
const KEPT_DAYS = 30;

/** @param {WebhookEndpoint} endpoint */
export const pause = (endpoint) => changeEndpoint(endpoint, { status: 'paused' }, newKey());

/** @param {WebhookEndpoint} endpoint */
export const resume = (endpoint) => changeEndpoint(endpoint, { status: 'active' }, newKey());

/**
 * Resolves with the new secret; null when the person cancels.
 * @param {WebhookEndpoint} endpoint
 * @returns {Promise<ShownSecret | null>}
 */
export async function rotate(endpoint) {
  const keyOf = keyPerRequest();
  /** @type {ShownSecret | null} */
  let shown = null;
  await ask({
    title: 'Rotate the secret?',
    content: [
      h('p', null, 'You get a new secret. Until the old one ends, each request is signed with both.'),
      selectField('overlap_seconds', 'End the old secret', [
        [String(DAY_SECONDS), 'In 24 hours'],
        [String(HOUR_SECONDS), 'In one hour'],
        [String(7 * DAY_SECONDS), 'In 7 days'],
        ['0', 'Now, because it leaked'],
      ]),
    ],
    confirm: 'Rotate secret',
    next: NEXT,
    act: async (form) => {
      const body = { overlap_seconds: Number(textIn(form, 'overlap_seconds')) };
      shown = await rotateSecret(endpoint.id, body, keyOf(body));
    },
  });
  return shown;
}

/** @param {WebhookEndpoint} endpoint */
export function remove(endpoint) {
  const key = newKey();
  return ask({
    title: 'Delete this endpoint?',
    content: [
      h('p', { class: 'dialog-what' }, foreign(addressOf(endpoint))),
      h('p', null, 'What is queued for it is cancelled, and its secret is erased. It cannot be undone.'),
    ],
    confirm: 'Delete endpoint',
    tone: 'danger',
    next: NEXT,
    act: () => deleteEndpoint(endpoint, key),
  });
}

/**
 * Resolves with how many are queued; null when the person cancels.
 * @param {WebhookEndpoint} endpoint
 * @returns {Promise<number | null>}
 */
export async function replayAll(endpoint) {
  const keyOf = keyPerRequest();
  /** @type {number | null} */
  let queued = null;
  const localText = (/** @type {number} */ daysAgo) =>
    new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 16);
  await ask({
    title: 'Replay deliveries?',
    content: [
      h(
        'p',
        null,
        'Events are sent again under their webhook-id. A receiver that remembers these ids takes each only once.',
      ),
      field(
        'since',
        'Events since (UTC)',
        { type: 'datetime-local', value: localText(1), min: localText(KEPT_DAYS), max: localText(0) },
        `At most ${String(KEPT_DAYS)} days ago.`,
      ),
      selectField('status', 'Which', [
        ['failed', 'Those whose last attempt failed'],
        ['', 'All, also those that were delivered'],
      ]),
    ],
    confirm: 'Replay',
    next: NEXT,
    act: async (form) => {
      const since = new Date(`${textIn(form, 'since')}Z`).toISOString();
      const status = textIn(form, 'status');
      const body = { since, ...(status === '' ? {} : { status }) };
      ({ count: queued } = await replayEndpoint(endpoint.id, body, keyOf(body)));
    },
  });
  return queued;
}
