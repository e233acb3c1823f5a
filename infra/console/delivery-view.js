/** One delivery: what was sent, what was answered, and when it is tried again. */
import { ApiError, newKey } from './api.js';
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { answerSection, msText, requestSection } from './exchange.js';
import { keepFresh } from './keep-fresh.js';
import { backTo, fact } from './page-parts.js';
import { readDelivery, readEndpoint, replayDelivery } from './routes.js';
import { countdown, exactTime } from './times.js';
import { DELIVERY_STATUSES, deliveryBadge, hasEnded, NEXT, triggerOf } from './webhook-wording.js';

/** @import { Delivery, WebhookEndpoint } from './payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/**
 * @param {ViewContext} context
 * @param {string} id
 */
export async function deliveryView({ names, signal, announce }, id) {
  let delivery = await readDelivery(id, signal);
  let next = await nextOf(delivery, signal);
  const endpoint = await endpointOf(delivery, signal);
  const heading = h('h1', { tabindex: -1 }, delivery.event_type);
  const actions = h('div');
  const [failed, stale] = [h('div', { 'aria-live': 'assertive' }), h('div')];
  const body = h('div', { class: 'view' });
  const mayReplay = names.may('deliveries:replay') && endpoint !== null && delivery.trigger !== 'test';
  const draw = () => {
    const hadFocus = body.contains(document.activeElement);
    actions.replaceChildren(mayReplay && hasEnded(delivery) ? replayButton(delivery, failed) : '');
    body.replaceChildren(
      factsSection(delivery, next),
      hasEnded(delivery) ? answerSection(delivery) : '',
      requestSection(delivery, endpoint),
    );
    if (hadFocus) heading.focus();
  };
  draw();
  keepFresh(signal, stale, async () => {
    // Nothing of it changes any more.
    if (hasEnded(delivery) && (next === null || hasEnded(next))) return;
    const now = await readDelivery(id, signal);
    const after = await nextOf(now, signal);
    if (JSON.stringify([now, after]) === JSON.stringify([delivery, next])) return;
    if (now.status !== delivery.status) announce(DELIVERY_STATUSES[now.status].label);
    [delivery, next] = [now, after];
    draw();
  });
  return {
    title: `Delivery of ${delivery.event_type}`,
    content: [
      endpoint === null ? backTo('#/webhooks', 'Webhooks') : backTo(`#/webhooks/${endpoint.id}`, 'Endpoint'),
      stale,
      h('div', { class: 'heading' }, heading, actions),
      failed,
      body,
    ],
  };
}

/**
 * @param {Delivery} delivery
 * @param {AbortSignal} signal
 * @returns {Promise<WebhookEndpoint | null>} null once it was deleted
 */
async function endpointOf({ endpoint_id: id }, signal) {
  try {
    return await readEndpoint(id, signal);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return null;
    throw error;
  }
}

/**
 * @param {Delivery} delivery
 * @param {AbortSignal} signal
 */
const nextOf = async ({ next_delivery_id: id }, signal) =>
  id === null ? null : await readDelivery(id, signal);

/**
 * @param {Delivery} delivery
 * @param {HTMLElement} problem shows why it could not be queued
 */
function replayButton(delivery, problem) {
  const key = newKey();
  const button = h('button', { type: 'button', class: 'plain' }, 'Replay');
  const replay = async () => {
    button.disabled = true;
    problem.replaceChildren();
    try {
      const { id } = await replayDelivery(delivery.id, key);
      location.hash = `#/deliveries/${id}`;
    } catch (error) {
      problem.replaceChildren(errorNotice(error, { role: null, next: NEXT }));
    } finally {
      button.disabled = false;
    }
  };
  button.addEventListener('click', () => void replay());
  return button;
}

/**
 * @param {Delivery} delivery
 * @param {Delivery | null} next
 */
function factsSection(delivery, next) {
  const { started_at: startedAt, due_at: dueAt, duration_ms: duration, replay_of: source } = delivery;
  return h(
    'section',
    { class: 'card', 'aria-label': 'About this delivery' },
    h(
      'p',
      { class: 'row' },
      deliveryBadge(delivery),
      h('span', null, DELIVERY_STATUSES[delivery.status].about),
    ),
    h(
      'dl',
      { class: 'facts narrow-facts' },
      fact('Attempt', [String(delivery.attempt), ` · ${triggerOf(delivery)}`]),
      hasEnded(delivery) ? null : fact('Due', dueText(dueAt)),
      startedAt === null ? null : fact('Sent', exactTime(startedAt)),
      duration === null ? null : fact('Took', msText(duration)),
      hasEnded(delivery) ? fact('Next try', nextTry(next)) : null,
      source === null ? null : fact('Replay of', link(source, 'the first delivery')),
      fact('Delivery', h('code', null, delivery.id)),
    ),
  );
}

/**
 * @param {string} id
 * @param {string} label
 */
const link = (id, label) => h('a', { href: `#/deliveries/${id}` }, label);

/** @param {string} dueAt */
const dueText = (dueAt) =>
  Date.parse(dueAt) <= Date.now() ? 'As soon as possible' : [exactTime(dueAt), ', in ', countdown(dueAt)];

/** @param {Delivery | null} next */
function nextTry(next) {
  if (next === null) return 'None';
  const label = link(next.id, `Attempt ${String(next.attempt)}`);
  if (hasEnded(next)) return [label, ': ', DELIVERY_STATUSES[next.status].label.toLowerCase()];
  return [label, ' · ', dueText(next.due_at)];
}
