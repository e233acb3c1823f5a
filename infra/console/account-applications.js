/** The applications that act in the name of the signed-in person, and their end. */
import { listConnections } from './application-routes.js';
import { connectionRow } from './connected-list.js';
import { h } from './dom.js';
import { whenChanged } from './live-list.js';
import { card } from './page-parts.js';

/** @import { ConnectedApplication } from './application-payloads.d.ts' */

export class ApplicationsCard {
  /** @type {import('./main.js').ViewContext} */
  #context;
  #problem = h('div', { 'aria-live': 'assertive' });
  #list = h('div');

  /** @param {import('./main.js').ViewContext} context */
  constructor(context) {
    this.#context = context;
  }

  get content() {
    return card(
      'applications',
      'Connected applications',
      h(
        'p',
        { class: 'quiet small' },
        'What acts in your name here. Disconnect what you do not know or no longer use.',
      ),
      this.#list,
      this.#problem,
    );
  }

  async refresh() {
    const { names, signal } = this.#context;
    this.#draw(await listConnections(signal, names.session.user.id));
  }

  #draw = whenChanged((/** @type {ConnectedApplication[]} */ connections) => {
    const rows = connections.map((each) =>
      connectionRow(each, {
        names: this.#context.names,
        isOfEverybody: false,
        problem: this.#problem,
        onEnded: async () => {
          await this.refresh();
          document.getElementById('applications')?.focus();
        },
      }),
    );
    this.#list.replaceChildren(
      rows.length === 0
        ? h('p', { class: 'quiet' }, 'None.')
        : h('ul', { class: 'plain-list sessions', 'aria-labelledby': 'applications' }, rows),
    );
  });
}
