/** Getting started: from nothing to an agent's first archived mail, one step after the other. */
import { CHECK } from './badges.js';
import { h, icon } from './dom.js';
import { readRoad } from './start-road.js';
import { STEPS } from './start-steps.js';

/** @typedef {import('./main.js').ViewContext} ViewContext */
/** @typedef {import('./start-road.js').Road} Road */

/** @param {ViewContext} context */
export async function startView(context) {
  const page = new StartPage(context, await readRoad(context.signal));
  page.draw();
  return { title: 'Getting started', content: page.content };
}

export class StartPage {
  context;
  /** @type {Road} */
  road;
  /** Whether the connection test was seen. */
  isTested;
  /** Is shown below the step of the token until the view is left: it cannot be shown again. */
  secret = h('div', { class: 'view' });
  #steps = h('ol', { class: 'road' });

  /**
   * @param {ViewContext} context
   * @param {Road} road
   */
  constructor(context, road) {
    this.context = context;
    this.road = road;
    this.isTested =
      road.mailbox !== null && ['syncing', 'connected', 'degraded'].includes(road.mailbox.state);
  }

  get content() {
    return [
      h('h1', { tabindex: -1 }, 'Getting started'),
      h(
        'p',
        { class: 'quiet lead' },
        'Connect a mailbox, and let an agent work in it. You decide how far it may go, and every step it takes is on record.',
      ),
      this.#steps,
    ];
  }

  /** The step after the last one that is done. */
  get #now() {
    const open = STEPS.findIndex(({ isDone }) => !isDone(this));
    return open < 0 ? STEPS.length : open;
  }

  /**
   * Changes the road and goes to its next step.
   * @param {Partial<Road> & { isTested?: boolean }} change
   */
  advance({ isTested, ...road }) {
    this.road = { ...this.road, ...road };
    this.isTested = isTested ?? this.isTested;
    this.draw();
    const heading = this.#steps.querySelector('.step.now h2');
    if (heading instanceof HTMLElement) heading.focus();
  }

  draw() {
    const now = this.#now;
    this.#steps.replaceChildren(
      ...STEPS.map((step, index) => {
        const state = index < now ? 'done' : index === now ? 'now' : 'later';
        const mark = state === 'done' ? icon(CHECK) : String(index + 1);
        return h(
          'li',
          { class: `step ${state}`, 'aria-current': state === 'now' ? 'step' : null },
          h('span', { class: 'step-mark', 'aria-hidden': 'true' }, mark),
          h(
            'div',
            { class: 'step-body' },
            h(
              'h2',
              { tabindex: -1 },
              step.title,
              state === 'done' ? h('span', { class: 'unseen' }, ' (done)') : null,
            ),
            state === 'done' ? step.outcome(this) : state === 'now' ? step.content(this) : null,
          ),
        );
      }),
    );
  }
}
