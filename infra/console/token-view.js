/** One token, and the page that issues one. */
import { changeToken, readToken, revokeToken } from './agent-routes.js';
import { keyPerRequest, newKey } from './api.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { field, textIn } from './fields.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { listMailboxes } from './mailbox-routes.js';
import { PageActions, redrawToolbar } from './page-actions.js';
import { backTo, cancelTo, card, fact, formPage } from './page-parts.js';
import { exactTime } from './times.js';
import { tokenForm } from './token-form.js';
import { rightsText } from './token-presets.js';
import { tokenPanel } from './token-secret.js';
import { aboutToken, lastUse, NEXT, SURFACES, tokenBadge } from './token-wording.js';

/** @import { IssuedToken, Token } from './setup-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

const ROUTE = '#/tokens';

/**
 * `?for=` names the agent it is for. The view becomes that of the token once it exists.
 * @param {ViewContext} context
 * @param {URLSearchParams} query
 */
export async function tokenNewView({ names, signal }, query) {
  const [mailboxes] = await Promise.all([listMailboxes(signal), names.learnPrincipals(signal)]);
  const { id, name } = names.session.user;
  const all = [.../** @type {const} */ ([[id, `${foreignPlain(name)} (you)`]]), ...names.agents];
  const wanted = query.get('for');
  const principals = [...all].sort(([one], [other]) => Number(other === wanted) - Number(one === wanted));
  const place = h('div', { class: 'view' });
  /** @param {IssuedToken} issued */
  const onIssued = (issued) => {
    place.replaceChildren(
      tokenPanel(issued, issued.mailbox_ids?.[0] ?? mailboxes[0]?.id ?? null),
      h('p', null, h('a', { class: 'button primary', href: `${ROUTE}/${issued.id}` }, 'Open the token')),
    );
    place.querySelector('h2')?.focus();
  };
  const form = tokenForm({
    name: '',
    principals,
    preset: 'reader',
    mailboxes,
    beside: cancelTo(ROUTE),
    onIssued,
  });
  place.append(h('section', { class: 'card' }, form));
  return formPage('Issue a token', { back: backTo(ROUTE, 'Tokens'), content: place });
}

/**
 * @param {ViewContext} context
 * @param {string} id
 */
export async function tokenView({ names, signal }, id) {
  const [first] = await Promise.all([readToken(id, signal), names.learnPrincipals(signal)]);
  const actions = new PageActions(NEXT);
  const head = h('div', { class: 'webhook-head' });
  const toolbar = h('div', { class: 'toolbar' });
  const about = h('div', { class: 'form-page' });
  /** @param {Token} token */
  const draw = (token) => {
    head.replaceChildren(...headOf(token));
    about.replaceChildren(factsOf(token, names));
    redrawToolbar(toolbar, token.status === 'active' ? buttons(token) : []);
  };
  /** @param {boolean} isDone */
  const after = async (isDone) => {
    if (!isDone) return undefined;
    draw(await readToken(id, signal));
    return null;
  };
  /** @param {Token} token */
  const buttons = (token) => [
    actions.button('Rename…', 'plain', async () => await after(await rename(token))),
    actions.button('Shorten…', 'plain', async () => await after(await shorten(token))),
    actions.button('Revoke…', 'danger', async () => await after(await revoke(token))),
  ];
  draw(first);
  return {
    title: foreignPlain(first.name),
    content: [backTo(ROUTE, 'Tokens'), head, toolbar, actions.outcome, about],
  };
}

/** @param {Token} token */
const headOf = (token) => [
  h('h1', { tabindex: -1 }, foreign(token.name)),
  h('p', { class: 'approval-meta' }, tokenBadge(token), h('span', { class: 'quiet' }, aboutToken(token))),
];

/**
 * @param {Token} token
 * @param {import('./names.js').Names} names
 */
const factsOf = (token, names) =>
  card(
    'settings',
    'Settings',
    h(
      'dl',
      { class: 'facts narrow-facts' },
      fact('For', principalOf(token, names)),
      fact('Interface', SURFACES[token.surface]),
      fact('May', rightsText(token.scopes)),
      fact('Mailboxes', mailboxesOf(token, names)),
      fact('Last use', lastUse(token)),
      fact('Ends', exactTime(token.expires_at)),
      fact('Issued', exactTime(token.created_at)),
    ),
  );

/**
 * @param {Token} token
 * @param {import('./names.js').Names} names
 */
const principalOf = ({ principal: { id, kind } }, names) =>
  kind === 'agent'
    ? h('a', { href: `#/agents/${id}` }, foreign(names.nameOf(id)))
    : foreign(names.nameOf(id));

/**
 * @param {Token} token
 * @param {import('./names.js').Names} names
 */
const mailboxesOf = ({ mailbox_ids: ids }, names) =>
  ids === null
    ? 'Every mailbox with a grant'
    : ids.flatMap((id, index) => [index === 0 ? '' : ', ', foreign(names.nameOf(id))]);

/** @param {Token} token */
function rename({ id, name }) {
  const keyOf = keyPerRequest();
  return ask({
    title: 'Rename the token',
    content: [field('name', 'Name', { maxlength: 100, value: name, autofocus: true })],
    confirm: 'Rename',
    next: NEXT,
    act: (form) => {
      const body = { name: textIn(form, 'name').trim() };
      return changeToken(id, body, keyOf(body));
    },
  });
}

/** @param {Token} token */
function shorten({ id, expires_at: expiresAt }) {
  const keyOf = keyPerRequest();
  const localText = (/** @type {number} */ time) => new Date(time).toISOString().slice(0, 16);
  return ask({
    title: 'Shorten the token',
    content: [
      h('p', null, 'A token can end earlier, never later.'),
      field('ends', 'Ends (UTC)', {
        type: 'datetime-local',
        value: localText(Date.parse(expiresAt)),
        min: localText(Date.now()),
        max: localText(Date.parse(expiresAt)),
      }),
    ],
    confirm: 'Shorten',
    next: NEXT,
    act: (form) => {
      const body = { expires_at: new Date(`${textIn(form, 'ends')}Z`).toISOString() };
      return changeToken(id, body, keyOf(body));
    },
  });
}

/** @param {Token} token */
function revoke({ id, name }) {
  const key = newKey();
  return ask({
    title: 'Revoke this token?',
    content: [
      h('p', { class: 'dialog-what' }, foreign(name)),
      h('p', null, 'Whatever uses it is refused from then on. It cannot be undone.'),
    ],
    confirm: 'Revoke token',
    tone: 'danger',
    next: NEXT,
    act: () => revokeToken(id, key),
  });
}
