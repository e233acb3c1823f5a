/** One mailbox: its state and what to do about it, its settings, who may use it. */
import { h } from './dom.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { keepFresh } from './keep-fresh.js';
import { loginOf, pause, remove, restore, resume } from './mailbox-actions.js';
import { providerLink } from './mailbox-connect.js';
import { GrantList } from './mailbox-grants.js';
import { syncText } from './mailbox-list-view.js';
import { listFolders, readMailbox, testMailbox } from './mailbox-routes.js';
import { testResult } from './mailbox-test.js';
import { hostText, MAILBOX_STATES, NEXT, PROVIDER_LOGINS, stateBadge, troubleOf } from './mailbox-wording.js';
import { PageActions, redrawToolbar } from './page-actions.js';
import { backTo, card, fact, told } from './page-parts.js';
import { exactTime, pastTime } from './times.js';

/** @import { Folder, Mailbox } from './setup-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/**
 * `?new=1` tests the connection at once, `?authorize=1` begins at the provider.
 * @param {ViewContext} context
 * @param {string} id
 * @param {URLSearchParams} query
 */
export async function mailboxView(context, id, query) {
  const { names, signal } = context;
  const [mailbox] = await Promise.all([readMailbox(id, signal), names.learnPrincipals(signal)]);
  const page = new MailboxPage(context, mailbox);
  await page.open(query);
  return { title: foreignPlain(mailbox.email), content: page.content };
}

class MailboxPage {
  #context;
  #mailbox;
  #do;
  /** @type {GrantList | null} */
  #grants = null;
  /** @type {readonly Folder[]} */
  #folders = [];
  /** The roles of folders for which they were read. */
  #foldersOf = '';
  #drawn = '';
  /** What the buttons depend on: they stay as they are while it does, as one of them may be in use. */
  #offered = '';
  #stale = h('div');
  #head = h('div', { class: 'webhook-head' });
  #state = h('div');
  #toolbar = h('div', { class: 'toolbar' });
  #about = h('aside', { class: 'webhook-about', 'aria-label': 'About the mailbox' });

  /**
   * @param {ViewContext} context
   * @param {Mailbox} mailbox
   */
  constructor(context, mailbox) {
    this.#context = context;
    this.#mailbox = mailbox;
    const { names, signal } = context;
    this.#do = new PageActions(NEXT);
    if (names.may('mailboxes:grants'))
      this.#grants = new GrantList(mailbox, { names, signal, actions: this.#do });
  }

  get content() {
    return [
      backTo('#/mailboxes', 'Mailboxes'),
      this.#stale,
      this.#head,
      this.#toolbar,
      this.#do.outcome,
      this.#state,
      h('div', { class: 'webhook-page' }, this.#grants?.content, this.#about),
    ];
  }

  /** @param {URLSearchParams} query */
  async open(query) {
    const { names, signal } = this.#context;
    await this.#show();
    keepFresh(signal, this.#stale, () => this.#refresh());
    const button = query.has('authorize')
      ? this.#authorizeButton()
      : query.has('new')
        ? this.#testButton()
        : null;
    if (names.may('mailboxes:manage')) button?.click();
  }

  async #refresh() {
    this.#mailbox = await readMailbox(this.#mailbox.id, this.#context.signal);
    await this.#show();
  }

  async #show() {
    await this.#readFolders();
    this.#draw();
    await this.#grants?.refresh();
  }

  /** Once they can be read, and again when others have a role. */
  async #readFolders() {
    const { names, signal } = this.#context;
    const { id, state, folder_roles: roles } = this.#mailbox;
    const wanted = JSON.stringify(roles);
    if (wanted === this.#foldersOf || !names.holds('folders:read', id)) return;
    if (state !== 'connected' && state !== 'syncing') return;
    this.#folders = (await listFolders(id, signal)).items;
    this.#foldersOf = wanted;
  }

  #draw() {
    const signature = JSON.stringify([this.#mailbox, this.#folders]);
    if (signature === this.#drawn) return;
    this.#drawn = signature;
    const mailbox = this.#mailbox;
    this.#head.replaceChildren(...headOf(mailbox));
    const offered = `${mailbox.state} ${mailbox.auth_type}`;
    if (offered !== this.#offered) redrawToolbar(this.#toolbar, this.#buttons());
    this.#offered = offered;
    this.#state.replaceChildren(...stateOf(mailbox));
    this.#about.replaceChildren(settingsCard(mailbox), foldersCard(mailbox, this.#folders));
  }

  /** @returns {readonly HTMLElement[]} */
  #buttons() {
    if (!this.#context.names.may('mailboxes:manage')) return [];
    const { id, state } = this.#mailbox;
    if (state === 'removed') return [this.#do.button('Restore', 'primary', () => this.#change(restore))];
    const isPaused = state === 'paused';
    return [
      ...(loginOf(this.#mailbox) !== null && state === 'pending' ? [this.#authorizeButton()] : []),
      this.#testButton(),
      h(
        'a',
        {
          class: `button ${state === 'auth_failed' ? 'primary' : 'plain'}`,
          href: `#/mailboxes/${id}/reconnect`,
        },
        'Reconnect',
      ),
      this.#do.button(isPaused ? 'Resume' : 'Pause', 'plain', () => this.#change(isPaused ? resume : pause)),
      this.#do.button('Remove…', 'danger', () => this.#remove()),
    ];
  }

  #testButton() {
    return this.#do.button('Test the connection', 'plain', async () => {
      this.#do.show(told('Testing the connection…'));
      const result = testResult(await testMailbox(this.#mailbox.id), this.#mailbox);
      await this.#refresh();
      return [h('h2', { tabindex: -1 }, 'Connection test'), result];
    });
  }

  #authorizeButton() {
    const login = loginOf(this.#mailbox) ?? 'google';
    const name = PROVIDER_LOGINS[login];
    return this.#do.button(`Sign in at ${name}`, 'primary', () =>
      providerLink(this.#mailbox.id, login, name),
    );
  }

  /** @param {(mailbox: Mailbox) => Promise<Mailbox>} change */
  async #change(change) {
    this.#mailbox = await change(this.#mailbox);
    this.#draw();
    return null;
  }

  async #remove() {
    if (!(await remove(this.#mailbox))) return undefined;
    await this.#refresh();
    return null;
  }
}

/** @param {Mailbox} mailbox */
const headOf = (mailbox) => [
  h('h1', { tabindex: -1 }, foreign(mailbox.email)),
  h(
    'p',
    { class: 'approval-meta' },
    stateBadge(mailbox),
    h('span', { class: 'quiet' }, MAILBOX_STATES[mailbox.state].about),
  ),
];

/** @param {Mailbox} mailbox */
function stateOf(mailbox) {
  const trouble = troubleOf(mailbox);
  if (trouble !== null)
    return [
      h(
        'div',
        { class: 'notice bad' },
        h('p', { class: 'notice-title' }, `${trouble.why}.`),
        h('p', null, trouble.next),
      ),
    ];
  if (mailbox.erase_at !== undefined)
    return [h('p', { class: 'notice' }, 'It is erased on ', exactTime(mailbox.erase_at), '.')];
  return mailbox.state === 'syncing' ? [syncProgress(mailbox)] : [];
}

/** @param {Pick<Mailbox, 'sync'>} mailbox */
export const syncProgress = ({ sync }) =>
  h(
    'div',
    { class: 'progress' },
    h('progress', { 'aria-label': 'First sync', max: Math.max(sync.total, 1), value: sync.indexed }),
    h('p', { class: 'quiet small' }, syncText(sync)),
  );

/** @param {Mailbox} mailbox */
const settingsCard = (mailbox) =>
  card(
    'settings',
    'Settings',
    h(
      'dl',
      { class: 'facts narrow-facts' },
      fact('Incoming', hostText(mailbox.imap)),
      fact('Outgoing', hostText(mailbox.smtp)),
      fact('Signs in', signsIn(mailbox)),
      fact('Messages', mailbox.state === 'syncing' ? syncText(mailbox.sync) : String(mailbox.sync.indexed)),
      fact('Changed', mailbox.sync.last_event_at === null ? 'Not yet' : pastTime(mailbox.sync.last_event_at)),
      fact('Added', exactTime(mailbox.created_at)),
    ),
  );

/** @param {Mailbox} mailbox */
function signsIn(mailbox) {
  const login = loginOf(mailbox);
  return login === null ? 'With a password' : `With ${PROVIDER_LOGINS[login]}`;
}

/**
 * @param {Mailbox} mailbox
 * @param {readonly Folder[]} folders
 */
function foldersCard({ folder_roles: roles }, folders) {
  const paths = new Map(folders.map(({ id, path }) => [id, path]));
  const rows = Object.entries(roles).map(([role, id]) => {
    const path = paths.get(id);
    return fact(role, path === undefined ? 'Found' : foreign(path));
  });
  return card(
    'folders',
    'Folders',
    rows.length === 0
      ? h('p', { class: 'quiet' }, 'Known once it is connected.')
      : h('dl', { class: 'facts narrow-facts' }, rows),
  );
}
