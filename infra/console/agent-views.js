/** The agents: programs that act within the rights of the person who owns them. */
import { createAgent, listAgents, listTokens, readAgent } from './agent-routes.js';
import { handOver, removeAgent, renameAgent } from './agent-actions.js';
import { keyPerRequest } from './api.js';
import { h } from './dom.js';
import { field, textIn } from './fields.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { formOf } from './form.js';
import { emptyList, entryRow, liveList } from './live-list.js';
import { PageActions } from './page-actions.js';
import { backTo, cancelTo, formPage } from './page-parts.js';
import { exactTime } from './times.js';
import { tokenRow } from './token-list-view.js';
import { NEXT } from './token-wording.js';

/** @import { Agent } from './setup-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

const ROUTE = '#/agents';

/** @param {ViewContext} context */
export async function agentListView({ names, signal }) {
  await names.learnPrincipals(signal);
  const list = await liveList({
    signal,
    label: 'Agents',
    load: () => listAgents(signal),
    rowOf: (agent) =>
      entryRow({
        id: agent.id,
        href: `${ROUTE}/${agent.id}`,
        title: foreign(agent.name),
        about: [ownerOf(agent, names)],
        state: null,
      }),
    empty: () => emptyList('No agents yet', 'Make one for each program that works with mail.'),
  });
  return {
    title: 'Agents',
    content: [
      h(
        'div',
        { class: 'heading' },
        h('h1', { tabindex: -1 }, 'Agents'),
        h('a', { class: 'button primary', href: `${ROUTE}/new` }, 'Make an agent'),
      ),
      h('p', { class: 'quiet lead' }, 'An agent never gets further than the person who owns it.'),
      list,
    ],
  };
}

/**
 * @param {Agent} agent
 * @param {import('./names.js').Names} names
 */
const ownerOf = ({ owner_id: owner, created_at: createdAt }, names) => [
  'Owned by ',
  foreign(names.nameOf(owner)),
  ' · made ',
  exactTime(createdAt),
];

/**
 * Asks for the name of a new agent.
 * @param {{ name: string, beside?: import('./payloads.d.ts').Child, onMade: (agent: Agent) => void }} options
 */
export function agentForm({ name, beside = null, onMade }) {
  const keyOf = keyPerRequest();
  const hint = 'As approvals and the audit trail show it.';
  return formOf([field('name', 'Name of the agent', { maxlength: 100, value: name }, hint)], {
    button: 'Make the agent',
    beside,
    next: NEXT,
    act: async (values) => {
      const body = { name: textIn(values, 'name').trim() };
      onMade(await createAgent(body, keyOf(body)));
    },
  });
}

/** @returns {Promise<import('./sign-in-views.js').View>} */
export const agentNewView = () =>
  Promise.resolve(
    formPage('Make an agent', {
      back: backTo(ROUTE, 'Agents'),
      content: h(
        'section',
        { class: 'card' },
        agentForm({
          name: '',
          beside: cancelTo(ROUTE),
          onMade: ({ id }) => {
            location.hash = `${ROUTE}/${id}`;
          },
        }),
      ),
    }),
  );

/**
 * @param {ViewContext} context
 * @param {string} id
 */
export async function agentView({ names, signal }, id) {
  const [first] = await Promise.all([readAgent(id, signal), names.learnPrincipals(signal)]);
  const actions = new PageActions(NEXT);
  const head = h('div', { class: 'webhook-head' });
  const now = () => readAgent(id, signal);
  /** @param {boolean} isDone */
  const after = async (isDone) => {
    if (!isDone) return undefined;
    head.replaceChildren(...headOf(await now(), names));
    return null;
  };
  const tokens = async () => (await listTokens(signal)).filter(({ principal }) => principal.id === id);
  const list = await liveList({
    signal,
    label: 'Tokens of the agent',
    load: tokens,
    rowOf: (token) => tokenRow(token, names),
    empty: () => emptyList('No tokens yet', 'The agent signs in with one.'),
  });
  const toolbar = h(
    'div',
    { class: 'toolbar' },
    h('a', { class: 'button primary', href: `#/tokens/new?for=${id}` }, 'Issue a token'),
    actions.button('Rename…', 'plain', async () => await after(await renameAgent(await now()))),
    names.members.length > 1
      ? actions.button('Hand over…', 'plain', async () => await after(await handOver(await now(), names)))
      : null,
    actions.button('Delete…', 'danger', async () => {
      const live = (await tokens()).filter(({ status }) => status === 'active').length;
      if (await removeAgent(await now(), live)) location.hash = ROUTE;
      return undefined;
    }),
  );
  head.replaceChildren(...headOf(first, names));
  return {
    title: foreignPlain(first.name),
    content: [
      backTo(ROUTE, 'Agents'),
      head,
      toolbar,
      actions.outcome,
      h('div', { class: 'heading' }, h('h2', null, 'Tokens')),
      list,
      h(
        'p',
        { class: 'quiet small' },
        'Grants are on the page of each ',
        h('a', { href: '#/mailboxes' }, 'mailbox'),
        '.',
      ),
    ],
  };
}

/**
 * @param {Agent} agent
 * @param {import('./names.js').Names} names
 */
const headOf = (agent, names) => [
  h('h1', { tabindex: -1 }, foreign(agent.name)),
  h('p', { class: 'quiet' }, ownerOf(agent, names)),
];
