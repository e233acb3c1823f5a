/** The applications of an organisation, for its owners: what is connected, what was registered or approved, and the rule. */
import { listClients, readRule, setRule } from './application-routes.js';
import { NEXT, RULES } from './application-wording.js';
import { radios } from './choices.js';
import { ApplicationsCard } from './connected-list.js';
import { h } from './dom.js';
import { textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { keepFresh } from './keep-fresh.js';
import { entryRow, liveList } from './live-list.js';
import { listMailboxes } from './mailbox-routes.js';
import { card, told } from './page-parts.js';

/** @import { OAuthClient, OAuthClientRule } from './application-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

const ADDRESS = new URL('mcp', document.baseURI).href;

/** @param {ViewContext} context */
export async function applicationsView(context) {
  const { signal, names } = context;
  const connected = new ApplicationsCard(context, {
    id: 'connected',
    title: 'Connected',
    empty: 'Nobody has connected an application yet.',
  });
  const [{ oauth_clients: rule }, mailboxes, clients] = await Promise.all([
    readRule(signal),
    listMailboxes(signal),
    clientList(signal),
  ]);
  names.learn(Object.fromEntries(mailboxes.map(({ id, email }) => [id, email])));
  await connected.refresh();
  const problem = h('div');
  keepFresh(signal, problem, () => connected.refresh());
  return {
    title: 'Applications',
    content: [
      h(
        'div',
        { class: 'heading' },
        h('h1', { tabindex: -1 }, 'Applications'),
        h('a', { class: 'button primary', href: '#/applications/new' }, 'Register or approve'),
      ),
      h(
        'p',
        { class: 'quiet lead' },
        'Assistants and other MCP clients that members connect by the address ',
        h('code', null, ADDRESS),
        '. Each acts in the name of the person who allowed it.',
      ),
      problem,
      h(
        'div',
        { class: 'view form-page' },
        connected.content,
        h(
          'section',
          { class: 'deliveries', 'aria-labelledby': 'clients' },
          h('h2', { id: 'clients' }, 'Registered and approved'),
          clients,
        ),
        ruleCard(rule),
      ),
    ],
  };
}

/** @param {AbortSignal} signal */
const clientList = (signal) =>
  liveList({
    signal,
    label: 'Registered and approved',
    load: () => listClients(signal),
    rowOf: clientRow,
    empty: () =>
      h(
        'p',
        { class: 'quiet' },
        'None. Most applications need no registration: they are known by an address, or register themselves where the operator allows it.',
      ),
  });

/** @param {OAuthClient} client */
const clientRow = ({
  id,
  name,
  client_id: clientId,
  kind,
  redirect_uris: uris,
  is_confidential: isConfidential,
}) =>
  entryRow({
    id,
    href: `#/applications/${id}`,
    title: foreign(name),
    about: [
      kind === 'approved'
        ? foreign(clientId)
        : uris.flatMap((uri, index) => [index === 0 ? '' : ', ', foreign(uri)]),
    ],
    state: h(
      'span',
      { class: 'badge over' },
      kind === 'approved' ? 'Approved' : isConfidential ? 'Registered, with a secret' : 'Registered',
    ),
  });

/** @param {OAuthClientRule} rule */
function ruleCard(rule) {
  const saved = h('div', { 'aria-live': 'polite' });
  const form = formOf([radios('oauth_clients', 'What members may connect', RULES, rule)], {
    button: 'Save the rule',
    next: NEXT,
    act: async (values) => {
      saved.replaceChildren();
      await setRule(/** @type {OAuthClientRule} */ (textIn(values, 'oauth_clients')));
      saved.replaceChildren(told('Saved. It counts from now on; what is connected stays connected.'));
    },
  });
  return card('rule', 'Rule', form, saved);
}
