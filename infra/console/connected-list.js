/** Connected applications, each with the way to end it. */
import { actionButton } from './action-button.js';
import { newKey } from './api.js';
import { disconnect, listConnections } from './application-routes.js';
import { aboutApplication, nameOf, NEXT, plainNameOf } from './application-wording.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { whenChanged } from './live-list.js';
import { card } from './page-parts.js';
import { scopesText } from './scope-wording.js';
import { exactTime } from './times.js';
import { lastUse } from './token-wording.js';

/** @import { ConnectedApplication } from './application-payloads.d.ts' */

/**
 * @typedef {object} ApplicationsCardOptions
 * @property {string} id of its heading
 * @property {string} title
 * @property {string} [about]
 * @property {string} empty what it says without any
 * @property {string} [userId] whose; those of everybody without it
 */

/** A card of connected applications. */
export class ApplicationsCard {
  /** @type {import('./main.js').ViewContext} */
  #context;
  /** @type {ApplicationsCardOptions} */
  #options;
  #problem = h('div', { 'aria-live': 'assertive' });
  #list = h('div');

  /**
   * @param {import('./main.js').ViewContext} context
   * @param {ApplicationsCardOptions} options
   */
  constructor(context, options) {
    this.#context = context;
    this.#options = options;
  }

  get content() {
    const { id, title, about } = this.#options;
    return card(
      id,
      title,
      about === undefined ? null : h('p', { class: 'quiet small' }, about),
      this.#list,
      this.#problem,
    );
  }

  async refresh() {
    this.#draw(await listConnections(this.#context.signal, this.#options.userId));
  }

  #draw = whenChanged((/** @type {ConnectedApplication[]} */ connections) => {
    const { id, empty, userId } = this.#options;
    const rows = connections.map((each) =>
      connectionRow(each, {
        names: this.#context.names,
        isOfEverybody: userId === undefined,
        problem: this.#problem,
        onEnded: async () => {
          await this.refresh();
          document.getElementById(id)?.focus();
        },
      }),
    );
    this.#list.replaceChildren(
      rows.length === 0
        ? h('p', { class: 'quiet' }, empty)
        : h('ul', { class: 'plain-list sessions', 'aria-labelledby': id }, rows),
    );
  });
}

/**
 * @typedef {object} ConnectionRowOptions
 * @property {import('./names.js').Names} names of mailboxes
 * @property {boolean} isOfEverybody names the person too
 * @property {HTMLElement} problem
 * @property {() => Promise<unknown>} onEnded
 */

/**
 * @param {ConnectedApplication} connection
 * @param {ConnectionRowOptions} options
 */
function connectionRow(connection, { names, isOfEverybody, problem, onEnded }) {
  const { id, application, user, scopes, expires_at: until } = connection;
  const end = actionButton('Disconnect…', {
    tone: 'danger',
    about: `${plainNameOf(application)}${isOfEverybody ? ` of ${foreignPlain(user.name)}` : ''}`,
    problem,
    next: NEXT,
    act: async () => {
      if (await askToEnd(connection, isOfEverybody)) await onEnded();
    },
  });
  return h(
    'li',
    { class: 'session connection', 'data-id': id },
    h(
      'div',
      null,
      h('p', { class: 'strong' }, nameOf(application), isOfEverybody ? [' · ', foreign(user.name)] : null),
      h('p', { class: 'quiet small' }, aboutApplication(application)),
      h('p', { class: 'quiet small' }, 'Mailboxes: ', mailboxesOf(connection, names)),
      h('p', { class: 'quiet small' }, lastUse(connection), ' · until ', exactTime(until)),
      scopesText(scopes),
    ),
    end,
  );
}

/**
 * @param {ConnectedApplication} connection
 * @param {import('./names.js').Names} names
 */
const mailboxesOf = ({ mailbox_ids: ids }, names) =>
  ids === null
    ? 'all, also later ones'
    : ids.flatMap((id, index) => [index === 0 ? '' : ', ', foreign(names.nameOf(id))]);

/**
 * @param {ConnectedApplication} connection
 * @param {boolean} isOfEverybody
 */
function askToEnd({ id, application, user }, isOfEverybody) {
  const key = newKey();
  return ask({
    title: 'Disconnect this application?',
    content: [
      h(
        'p',
        { class: 'dialog-what' },
        nameOf(application),
        isOfEverybody ? [' of ', foreign(user.name)] : null,
      ),
      h(
        'p',
        null,
        'It is refused at once: its tokens end, and with them what it is doing at this moment. What it did stays done, and drafts stay where they are. To use it again, it has to ask again.',
      ),
    ],
    confirm: 'Disconnect',
    tone: 'danger',
    next: NEXT,
    act: () => disconnect(id, key),
  });
}
