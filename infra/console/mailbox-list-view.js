/** The mailboxes of the organisation, and the page that connects another one. */
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { emptyList, entryRow, liveList } from './live-list.js';
import { connectForms } from './mailbox-connect.js';
import { listMailboxes, listRemovedMailboxes } from './mailbox-routes.js';
import { stateBadge, troubleOf } from './mailbox-wording.js';
import { backTo, cancelTo, formPage } from './page-parts.js';
import { exactTime, pastTime } from './times.js';
import { counted } from './wording.js';

/** @import { Mailbox } from './setup-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/** @param {ViewContext} context */
export async function mailboxListView({ names, signal }) {
  const manages = names.may('mailboxes:manage');
  const list = await liveList({
    signal,
    label: 'Mailboxes',
    load: async () => {
      const [connected, removed] = await Promise.all([
        listMailboxes(signal),
        manages ? listRemovedMailboxes(signal) : [],
      ]);
      return [...connected, ...removed];
    },
    rowOf,
    empty: () =>
      emptyList(
        'No mailboxes yet',
        manages ? 'Connect one to give agents access to it.' : 'Ask an owner or admin for a grant on one.',
      ),
  });
  return {
    title: 'Mailboxes',
    content: [
      h(
        'div',
        { class: 'heading' },
        h('h1', { tabindex: -1 }, 'Mailboxes'),
        manages ? h('a', { class: 'button primary', href: '#/mailboxes/new' }, 'Connect a mailbox') : null,
      ),
      list,
    ],
  };
}

/** @param {Mailbox} mailbox */
const rowOf = (mailbox) =>
  entryRow({
    id: mailbox.id,
    href: `#/mailboxes/${mailbox.id}`,
    title: foreign(mailbox.email),
    about: [shortly(mailbox)],
    state: stateBadge(mailbox),
  });

/** @param {Mailbox} mailbox */
function shortly(mailbox) {
  const { state, sync, erase_at: eraseAt } = mailbox;
  const trouble = troubleOf(mailbox);
  if (trouble !== null) return `${trouble.why}. ${trouble.next}`;
  if (eraseAt !== undefined) return ['Can be restored until ', exactTime(eraseAt)];
  if (state === 'syncing') return syncText(sync);
  const known = counted(sync.indexed, 'message');
  return sync.last_event_at === null ? known : [`${known} · changed `, pastTime(sync.last_event_at)];
}

/** @param {Mailbox['sync']} sync */
export const syncText = ({ indexed, total }) =>
  total === 0 ? 'Reading the folders' : `${String(indexed)} of ${counted(total, 'message')} read`;

/** @param {ViewContext} context */
export function mailboxNewView({ names }) {
  const route = '#/mailboxes';
  const forms = connectForms({
    beside: cancelTo(route),
    onMade: async ({ id }) => {
      await names.refresh();
      location.hash = `${route}/${id}?new=1`;
    },
  });
  return Promise.resolve(
    formPage('Connect a mailbox', {
      back: backTo(route, 'Mailboxes'),
      content: h('section', { class: 'card' }, forms),
    }),
  );
}
