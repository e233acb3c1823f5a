/** The deliveries of an endpoint: filters, and the newest first. */
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { msText } from './exchange.js';
import { byId, continuedBy, refreshedBy } from './list-pages.js';
import { listDeliveries } from './routes.js';
import { countdown, pastTime } from './times.js';
import { EVENT_GROUPS, TEST_EVENT } from './webhook-events.js';
import { DELIVERY_STATUSES, deliveryBadge, errorOf, hasEnded } from './webhook-wording.js';

/** @import { Delivery } from './payloads.d.ts' */

const PAGE = 20;
const LARGEST_PAGE = 200;

export class DeliveryList {
  /** @type {string} */
  #endpointId;
  /** @type {AbortSignal} */
  #signal;
  /** @type {{ status: string, type: string }} */
  #chosen;
  /** @type {Delivery[]} */
  #items = [];
  /** @type {string | null} */
  #next = null;
  #shown = '';
  #turn = 0;
  #rows = h('ul', { class: 'entries small-entries', 'aria-label': 'Deliveries' });
  #below = h('div', { class: 'below' });
  #problem = h('div');

  /**
   * @param {string} endpointId
   * @param {AbortSignal} signal
   * @param {URLSearchParams} query
   */
  constructor(endpointId, signal, query) {
    this.#endpointId = endpointId;
    this.#signal = signal;
    this.#chosen = { status: query.get('status') ?? '', type: query.get('type') ?? '' };
  }

  get content() {
    return h(
      'section',
      { class: 'deliveries', 'aria-labelledby': 'deliveries' },
      h(
        'div',
        { class: 'heading' },
        h('h2', { id: 'deliveries', tabindex: -1 }, 'Deliveries'),
        this.#filters(),
      ),
      this.#problem,
      this.#rows,
      this.#below,
    );
  }

  /** Loads everything shown again. */
  async refresh() {
    const turn = this.#turn;
    const limit = Math.min(LARGEST_PAGE, Math.max(PAGE, this.#items.length));
    const { items, page } = await this.#ask({ limit: String(limit) });
    // The filters were changed meanwhile.
    if (turn !== this.#turn) return;
    const loaded = { items: this.#items, next: this.#next };
    this.#put(refreshedBy(loaded, { items, next: page.next_cursor }, byId));
  }

  /** @param {Record<string, string>} page */
  #ask(page) {
    const { status, type } = this.#chosen;
    const query = {
      endpoint_id: this.#endpointId,
      ...(status === '' ? {} : { status }),
      ...(type === '' ? {} : { event_type: type }),
    };
    return listDeliveries({ ...query, ...page }, this.#signal);
  }

  async #more() {
    const turn = this.#turn;
    const { items, page } = await this.#ask({ limit: String(PAGE), cursor: this.#next ?? '' });
    if (turn !== this.#turn) return;
    const first = items[0];
    this.#put({ items: continuedBy(this.#items, items, byId), next: page.next_cursor });
    if (first) this.#linkOf(first.id)?.focus();
  }

  /** @param {() => Promise<void>} act */
  async #orProblem(act) {
    this.#problem.replaceChildren();
    try {
      await act();
    } catch (error) {
      if (!this.#signal.aborted) this.#problem.replaceChildren(errorNotice(error));
    }
  }

  #filters() {
    const { status, type } = this.#chosen;
    const types = EVENT_GROUPS.map(({ label, events }) =>
      h(
        'optgroup',
        { label },
        events.map(([each]) => h('option', { value: each, selected: each === type }, each)),
      ),
    );
    return h(
      'div',
      { class: 'filters' },
      h(
        'select',
        { 'aria-label': 'Status', on: { change: this.#choose('status') } },
        h('option', { value: '' }, 'Any status'),
        Object.entries(DELIVERY_STATUSES).map(([value, { label }]) =>
          h('option', { value, selected: value === status }, label),
        ),
      ),
      h(
        'select',
        { 'aria-label': 'Event type', on: { change: this.#choose('type') } },
        h('option', { value: '' }, 'Any event'),
        types,
        h('option', { value: TEST_EVENT, selected: TEST_EVENT === type }, TEST_EVENT),
      ),
    );
  }

  /**
   * The address keeps the choice, for the way back.
   * @param {'status' | 'type'} what
   */
  #choose(what) {
    return (/** @type {Event} */ { target }) => {
      if (!(target instanceof HTMLSelectElement)) return;
      this.#chosen[what] = target.value;
      const query = new URLSearchParams(Object.entries(this.#chosen).filter(([, value]) => value !== ''));
      history.replaceState(null, '', `#/webhooks/${this.#endpointId}?${query.toString()}`);
      this.#turn += 1;
      this.#items = [];
      this.#next = null;
      void this.#orProblem(() => this.refresh());
    };
  }

  /** @param {{ items: Delivery[], next: string | null }} list */
  #put({ items, next }) {
    this.#items = items;
    this.#next = next;
    const signature = JSON.stringify([items, next, this.#chosen]);
    if (signature === this.#shown) return;
    this.#shown = signature;
    const focused = document.activeElement?.getAttribute('data-id');
    this.#rows.replaceChildren(...items.map(rowOf));
    this.#rows.hidden = items.length === 0;
    this.#below.replaceChildren(...this.#belowRows());
    if (focused != null) this.#linkOf(focused)?.focus();
  }

  /** @param {string} id */
  #linkOf(id) {
    return [...this.#rows.querySelectorAll('a')].find(({ dataset }) => dataset['id'] === id);
  }

  #belowRows() {
    if (this.#items.length === 0) return [this.#empty()];
    if (this.#next === null) return [];
    const more = () => void this.#orProblem(() => this.#more());
    return [h('button', { type: 'button', class: 'plain', on: { click: more } }, 'Load more')];
  }

  #empty() {
    const isFiltered = this.#chosen.status !== '' || this.#chosen.type !== '';
    return h(
      'div',
      { class: 'empty' },
      h('p', { class: 'empty-title' }, isFiltered ? 'No delivery fits' : 'No deliveries yet'),
      h('p', { class: 'quiet' }, isFiltered ? 'Choose another status or event.' : 'Send a test to see one.'),
    );
  }
}

/** @param {Delivery} delivery */
const rowOf = (delivery) =>
  h(
    'li',
    { class: 'entry' },
    h(
      'div',
      { class: 'entry-what' },
      h('a', { href: `#/deliveries/${delivery.id}`, 'data-id': delivery.id }, delivery.event_type),
      h('p', { class: 'quiet small' }, shortly(delivery)),
    ),
    h('div', { class: 'entry-state' }, deliveryBadge(delivery)),
  );

/** @param {Delivery} delivery */
function shortly(delivery) {
  const {
    started_at: startedAt,
    due_at: dueAt,
    http_status: status,
    duration_ms: duration,
    attempt,
  } = delivery;
  if (!hasEnded(delivery)) {
    const isDue = Date.parse(dueAt) <= Date.now();
    return [`Attempt ${String(attempt)} `, isDue ? 'as soon as possible' : ['in ', countdown(dueAt)]];
  }
  const parts = [
    pastTime(startedAt ?? dueAt),
    delivery.trigger === 'event' ? null : delivery.trigger,
    attempt > 1 ? `attempt ${String(attempt)}` : null,
    status === null ? errorOf(delivery)?.why : `HTTP ${String(status)}`,
    duration === null ? null : msText(duration),
  ];
  return parts
    .filter((part) => part != null)
    .flatMap((part, index) => (index === 0 ? [part] : [' · ', part]));
}
