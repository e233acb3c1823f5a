/** The sessions of the signed-in person, with where they were started, and their end. */
import { actionButton } from './action-button.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { whenChanged } from './live-list.js';
import { card } from './page-parts.js';
import { endAllSessions, endSession, listSessions } from './people-routes.js';
import { pastTime } from './times.js';

/** @import { OpenSession } from './people-payloads.d.ts' */

export class SessionsCard {
  /** @type {import('./main.js').ViewContext} */
  #context;
  #problem = h('div', { 'aria-live': 'assertive' });
  #rows = h('ul', { class: 'plain-list sessions', 'aria-labelledby': 'sessions' });

  /** @param {import('./main.js').ViewContext} context */
  constructor(context) {
    this.#context = context;
  }

  get content() {
    return card(
      'sessions',
      'Sessions',
      h(
        'p',
        { class: 'quiet small' },
        'Where you are signed in. End one you do not know, and change your password.',
      ),
      this.#rows,
      this.#problem,
      actionButton('End all sessions…', {
        tone: 'danger',
        problem: this.#problem,
        act: () => this.#endAll(),
      }),
    );
  }

  async refresh() {
    this.#draw(await listSessions(this.#context.signal));
  }

  #draw = whenChanged((/** @type {OpenSession[]} */ sessions) => {
    this.#rows.replaceChildren(...sessions.map((session) => this.#row(session)));
  });

  /** @param {OpenSession} session */
  #row({ id, org, is_current: isCurrent, device, ip, started_at: startedAt, last_used_at: usedAt }) {
    const where = device ?? 'Unknown device';
    const end = actionButton('End', {
      about: `the session on ${foreignPlain(where)} in ${foreignPlain(org.name)}`,
      problem: this.#problem,
      act: async () => {
        await endSession(id);
        await this.refresh();
        document.getElementById('sessions')?.focus();
      },
    });
    return h(
      'li',
      { class: 'session', 'data-id': id },
      h(
        'div',
        null,
        h('p', { class: 'strong' }, foreign(where), ip === null ? '' : [' · ', foreign(ip)]),
        h('p', { class: 'small' }, 'In ', foreign(org.name)),
        h('p', { class: 'quiet small' }, 'Signed in ', pastTime(startedAt), ' · used ', pastTime(usedAt)),
      ),
      isCurrent ? h('span', { class: 'badge go' }, 'This one') : end,
    );
  }

  async #endAll() {
    await ask({
      title: 'End all sessions?',
      content: [h('p', null, 'Also this one: you sign in again.')],
      confirm: 'End all',
      tone: 'danger',
      act: async () => {
        await endAllSessions();
        this.#context.leave('All your sessions have ended. Sign in again.');
      },
    });
  }
}
