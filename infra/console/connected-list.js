/** Connected applications, each with the way to end it. */
import { actionButton } from './action-button.js';
import { newKey } from './api.js';
import { disconnect } from './application-routes.js';
import { aboutApplication, nameOf, NEXT, plainNameOf } from './application-wording.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { scopesText } from './scope-wording.js';
import { exactTime, pastTime } from './times.js';

/** @import { ConnectedApplication } from './application-payloads.d.ts' */

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
export function connectionRow(connection, { names, isOfEverybody, problem, onEnded }) {
  const { id, application, user, scopes, expires_at: until, last_used_at: usedAt } = connection;
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
      h(
        'p',
        { class: 'quiet small' },
        usedAt === null ? 'Never used' : ['Used ', pastTime(usedAt)],
        ' · until ',
        exactTime(until),
      ),
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
