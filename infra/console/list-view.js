/** The list of approvals, kept up to date while it is visible. */
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { keepFresh } from './keep-fresh.js';
import { notificationOffer } from './notifications.js';
import { byTime, continuedBy, refreshedBy } from './list-pages.js';
import { rowOf } from './list-row.js';
import { listApprovals } from './routes.js';
import { STATUSES } from './wording.js';

/** @import { Approval } from './payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/** The tabs, each with its query of `GET /approvals`. */
const SHOWS = {
  waiting: {
    label: 'Waiting for me',
    query: { role: 'approver', status: 'awaiting_approval' },
    empty: 'Nothing is waiting for you',
    about: 'Requests that need your approval appear here.',
  },
  mine: {
    label: 'Requested by me',
    query: { role: 'requester' },
    empty: 'You have no requests',
    about: 'Requests by you or your tokens appear here.',
  },
  all: {
    label: 'All',
    query: {},
    empty: 'No approvals',
    about: 'Approvals that you may see appear here.',
  },
};
const PAGE = 50;
const LARGEST_PAGE = 200;

/**
 * @param {ViewContext} context
 * @param {URLSearchParams} chosen
 */
export async function listView(context, chosen) {
  const list = new ApprovalList(context, chosen);
  await list.refresh();
  list.keepFresh();
  return { title: 'Approvals', content: list.content };
}

class ApprovalList {
  /** @type {ViewContext} */
  #context;
  /** @type {keyof typeof SHOWS} */
  #show;
  /** @type {string} */
  #status;
  /** @type {Approval[]} */
  #items = [];
  /** @type {string | null} */
  #next = null;
  #shown = '';
  #rows = h('ul', { class: 'entries', 'aria-label': 'Approvals' });
  #below = h('div', { class: 'below' });
  #problem = h('div');

  /**
   * @param {ViewContext} context
   * @param {URLSearchParams} chosen
   */
  constructor(context, chosen) {
    this.#context = context;
    const show = chosen.get('show') ?? 'waiting';
    this.#show = show === 'mine' || show === 'all' ? show : 'waiting';
    this.#status = chosen.get('status') ?? '';
  }

  get content() {
    return [
      h('div', { class: 'heading' }, h('h1', { tabindex: -1 }, 'Approvals'), this.#filters()),
      this.#problem,
      this.#rows,
      this.#below,
      this.#context.names.hasRole('approver') ? notificationOffer() : null,
    ];
  }

  /** Loads everything shown again. */
  async refresh() {
    const limit = Math.min(LARGEST_PAGE, Math.max(PAGE, this.#items.length));
    const { items, page } = await this.#ask({ limit: String(limit) });
    const known = new Set(this.#items.map(({ id }) => id));
    const news = this.#shown === '' ? [] : items.filter(({ id }) => !known.has(id));
    const loaded = { items: this.#items, next: this.#next };
    this.#put(refreshedBy(loaded, { items, next: page.next_cursor }, byTime));
    if (news.length > 0) this.#context.announce(`${String(news.length)} new in the list`);
  }

  /** Refreshes until the view is left. */
  keepFresh() {
    keepFresh(this.#context.signal, this.#problem, () => this.refresh());
  }

  async #more() {
    const { items, page } = await this.#ask({ limit: String(PAGE), cursor: this.#next ?? '' });
    const first = items[0];
    this.#put({ items: continuedBy(this.#items, items, byTime), next: page.next_cursor });
    if (first) this.#linkOf(first.id)?.focus();
  }

  /** @param {{ items: Approval[], next: string | null }} list */
  #put({ items, next }) {
    this.#items = items;
    this.#next = next;
    this.#draw();
  }

  /** @param {Record<string, string>} page */
  #ask(page) {
    const status = this.#show === 'waiting' || this.#status === '' ? {} : { status: this.#status };
    return listApprovals({ ...SHOWS[this.#show].query, ...status, ...page }, this.#context.signal);
  }

  #filters() {
    const shows = Object.entries(SHOWS).map(([show, { label }]) =>
      h(
        'a',
        { href: addressOf(show), class: 'segment', 'aria-current': show === this.#show ? 'page' : null },
        label,
      ),
    );
    return h(
      'div',
      { class: 'filters' },
      h('nav', { class: 'segments', 'aria-label': 'Which approvals' }, shows),
      this.#show === 'waiting' ? null : this.#statusField((status) => addressOf(this.#show, status)),
    );
  }

  /** @param {(status: string) => string} address */
  #statusField(address) {
    const option = (/** @type {string} */ value, /** @type {string} */ label) =>
      h('option', { value, selected: value === this.#status }, label);
    const choose = (/** @type {Event} */ { target }) => {
      if (target instanceof HTMLSelectElement) location.hash = address(target.value);
    };
    return h(
      'select',
      { 'aria-label': 'State', on: { change: choose } },
      option('', 'Any state'),
      Object.entries(STATUSES).map(([status, { label }]) => option(status, label)),
    );
  }

  #draw() {
    const signature = JSON.stringify([this.#items, this.#next]);
    if (signature === this.#shown) return;
    this.#shown = signature;
    const focused = document.activeElement;
    const focusedId =
      focused instanceof HTMLElement && this.#rows.contains(focused) ? focused.dataset['id'] : undefined;
    for (const { names } of this.#items) this.#context.names.learn(names);
    this.#rows.replaceChildren(...this.#items.map((approval) => rowOf(approval, this.#context.names)));
    this.#rows.hidden = this.#items.length === 0;
    this.#below.replaceChildren(...this.#belowRows());
    if (focusedId !== undefined) this.#linkOf(focusedId)?.focus();
  }

  /** @param {string} id */
  #linkOf(id) {
    const links = [...this.#rows.querySelectorAll('a')];
    return links.find(({ dataset }) => dataset['id'] === id);
  }

  #belowRows() {
    if (this.#items.length === 0) return [this.#empty()];
    if (this.#next === null) return [];
    const more = h(
      'button',
      { type: 'button', class: 'plain', on: { click: () => void this.#moreOrProblem() } },
      'Load more',
    );
    return [more];
  }

  async #moreOrProblem() {
    try {
      await this.#more();
    } catch (error) {
      this.#problem.replaceChildren(errorNotice(error));
    }
  }

  #empty() {
    const { empty, about } = SHOWS[this.#show];
    const state = Object.entries(STATUSES).find(([status]) => status === this.#status)?.[1];
    const isFiltered = this.#show !== 'waiting' && state !== undefined;
    return h(
      'div',
      { class: 'empty' },
      h('p', { class: 'empty-title' }, isFiltered ? `No approval is in the state “${state.label}”` : empty),
      h(
        'p',
        { class: 'quiet' },
        isFiltered ? h('a', { href: addressOf(this.#show) }, 'Show every state') : about,
      ),
    );
  }
}

/**
 * @param {string} show
 * @param {string} [status] '' for any
 */
const addressOf = (show, status = '') =>
  `#/approvals?${new URLSearchParams({ show, ...(status === '' ? {} : { status }) }).toString()}`;
