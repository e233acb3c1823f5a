/** The tokens of this person and their agents; for owners and admins those of the organisation. */
import { listTokens } from './agent-routes.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { emptyList, entryRow, liveList } from './live-list.js';
import { exactTime } from './times.js';
import { lastUse, SURFACES, tokenBadge } from './token-wording.js';

/** @import { Token } from './setup-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/** @param {ViewContext} context */
export async function tokenListView({ names, signal }) {
  await names.learnPrincipals(signal);
  const list = await liveList({
    signal,
    label: 'Tokens',
    load: () => listTokens(signal),
    rowOf: (token) => tokenRow(token, names),
    empty: () => emptyList('No tokens yet', 'A program signs in with one, for you or for an agent.'),
  });
  return {
    title: 'Tokens',
    content: [
      h(
        'div',
        { class: 'heading' },
        h('h1', { tabindex: -1 }, 'Tokens'),
        h('a', { class: 'button primary', href: '#/tokens/new' }, 'Issue a token'),
      ),
      list,
    ],
  };
}

/**
 * @param {Token} token
 * @param {import('./names.js').Names} names
 */
export const tokenRow = (token, names) =>
  entryRow({
    id: token.id,
    href: `#/tokens/${token.id}`,
    title: foreign(token.name),
    about: [
      [
        token.principal.kind === 'agent' ? 'Agent ' : '',
        foreign(names.nameOf(token.principal.id)),
        ` · ${SURFACES[token.surface]}`,
      ],
      [lastUse(token), token.status === 'active' ? [' · until ', exactTime(token.expires_at)] : null],
    ],
    state: tokenBadge(token),
  });
