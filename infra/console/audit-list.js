/** The lines of the audit trail that fit a filter, the newest first; newer ones are shown when the person asks for them. */
import { trailAddress, queryOf } from './audit-filter.js';
import { listLines } from './audit-routes.js';
import { actorOfLine, badgesOf } from './audit-wording.js';
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { eventWords } from './event-wording.js';
import { foreign } from './foreign-text.js';
import { continuedBy, refreshedBy } from './list-pages.js';
import { emptyList, entryRow } from './live-list.js';
import { pastTime } from './times.js';
import { counted } from './wording.js';

/** @import { TrailFilter, TrailLine } from './audit-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

const PAGE = 50;

/** @type {import('./list-pages.js').IsBelow<TrailLine>} */
const bySeq = (line, other) => line.seq < other.seq;

export class TrailList {
  /** @type {ViewContext} */
  #context;
  /** @type {TrailFilter} */
  #filter;
  /** @type {TrailLine[]} */
  #items = [];
  /** @type {string | null} */
  #next = null;
  /** The newest lines, which are not shown yet. @type {{ items: TrailLine[], next: string | null } | null} */
  #newest = null;
  /** @type {number | null} */
  #sealedThrough = null;
  #turn = 0;
  #drawn = '';
  #newer = h('div', { class: 'below', role: 'status' });
  #rows = h('ul', { class: 'entries small-rows', 'aria-label': 'Lines' });
  #below = h('div', { class: 'below' });
  #problem = h('div');

  /**
   * @param {ViewContext} context
   * @param {TrailFilter} filter
   */
  constructor(context, filter) {
    this.#context = context;
    this.#filter = filter;
  }

  get content() {
    return [this.#problem, this.#newer, this.#rows, this.#below];
  }

  /** Loads the first page. Throws `ApiError`. */
  async load() {
    const turn = this.#turn;
    const loaded = await this.#ask({});
    if (turn === this.#turn) this.#put(loaded);
  }

  /** Looks for newer lines. Throws `ApiError`. */
  async look() {
    const turn = this.#turn;
    const loaded = await this.#ask({});
    if (turn !== this.#turn) return;
    if (this.#items.length === 0) this.#put(loaded);
    else this.#tell(loaded);
  }

  /**
   * @param {number | null} seq up to which the trail is sealed
   */
  sealedThrough(seq) {
    this.#sealedThrough = seq;
    this.#draw();
  }

  /** @param {TrailFilter} filter */
  narrow(filter) {
    this.#filter = filter;
    this.#turn += 1;
    this.#items = [];
    this.#next = null;
    this.#newest = null;
    void this.#orProblem(() => this.load());
  }

  /**
   * @param {Record<string, string>} page
   * @returns {Promise<{ items: TrailLine[], next: string | null }>}
   */
  async #ask(page) {
    const query = { ...queryOf(this.#filter), limit: String(PAGE), ...page };
    const { items, page: at } = await listLines(query, this.#context.signal);
    return { items, next: at.next_cursor };
  }

  async #more() {
    const turn = this.#turn;
    const { items, next } = await this.#ask({ cursor: this.#next ?? '' });
    if (turn !== this.#turn) return;
    const first = items[0];
    this.#items = continuedBy(this.#items, items, bySeq);
    this.#next = next;
    this.#draw();
    if (first) this.#focus(first.id);
  }

  /** @param {{ items: TrailLine[], next: string | null }} loaded */
  #put(loaded) {
    const list = refreshedBy({ items: this.#items, next: this.#next }, loaded, bySeq);
    this.#items = list.items;
    this.#next = list.next;
    this.#newest = null;
    this.#newer.replaceChildren();
    this.#draw();
  }

  /** @param {{ items: TrailLine[], next: string | null }} loaded */
  #tell(loaded) {
    const newest = this.#items[0]?.seq ?? 0;
    const count = loaded.items.filter(({ seq }) => seq > newest).length;
    const isMore = count === loaded.items.length && loaded.next !== null;
    this.#newest = count === 0 ? null : loaded;
    const words = `Show ${isMore ? `${String(count)} and more newer lines` : counted(count, 'newer line')}`;
    const button = this.#newer.querySelector('button');
    if (count === 0) this.#newer.replaceChildren();
    else if (button !== null) button.textContent = words;
    else
      this.#newer.append(
        h('button', { type: 'button', class: 'plain', on: { click: () => { this.#showNewest(); } } }, words), // prettier-ignore
      );
  }

  #showNewest() {
    if (this.#newest === null) return;
    const first = this.#newest.items[0];
    this.#put(this.#newest);
    if (first) this.#focus(first.id);
  }

  /** @param {() => Promise<void>} act */
  async #orProblem(act) {
    this.#problem.replaceChildren();
    try {
      await act();
    } catch (error) {
      if (!this.#context.signal.aborted) this.#problem.replaceChildren(errorNotice(error));
    }
  }

  /** @param {string} id */
  #focus(id) {
    const link = this.#rows.querySelector(`[data-id="${CSS.escape(id)}"] a`);
    if (link instanceof HTMLElement) link.focus();
  }

  #draw() {
    const signature = JSON.stringify([this.#items, this.#next, this.#sealedThrough]);
    if (signature === this.#drawn) return;
    this.#drawn = signature;
    for (const { names } of this.#items) this.#context.names.learn(names);
    const focused = this.#rows.contains(document.activeElement)
      ? document.activeElement?.closest('[data-id]')?.getAttribute('data-id')
      : null;
    this.#rows.replaceChildren(...this.#items.map((line) => this.#row(line)));
    this.#rows.hidden = this.#items.length === 0;
    this.#below.replaceChildren(...this.#belowRows());
    if (focused != null) this.#focus(focused);
  }

  #belowRows() {
    if (this.#items.length === 0) return [emptyList('No line fits', 'Nothing of this kind was recorded.')];
    if (this.#next === null) return [];
    const more = () => void this.#orProblem(() => this.#more());
    return [h('button', { type: 'button', class: 'plain', on: { click: more } }, 'Load more')];
  }

  /** @param {TrailLine} line */
  #row(line) {
    const { names } = this.#context;
    return entryRow({
      id: line.id,
      href: trailAddress(this.#filter, `/${line.id}`),
      title: [foreign(eventWords(line.type, line.data)), nameIn(line)],
      about: [
        [
          actorOfLine(line, names),
          line.mailbox_id === null ? '' : [' · ', foreign(names.nameOf(line.mailbox_id))],
          ' · ',
          line.occurred_at === null ? 'at a time that cannot be read' : pastTime(line.occurred_at),
          ` · line ${String(line.seq)}`,
        ],
      ],
      state: h('div', { class: 'badges' }, badgesOf(line, this.#sealedThrough)),
    });
  }
}

/** @param {TrailLine} line */
function nameIn({ action, data }) {
  if (action === 'unreadable') return null;
  const name = data?.['name'] ?? data?.['subject'] ?? data?.['email'];
  return typeof name === 'string' && name !== '' ? [': ', foreign(name)] : null;
}
