/** A token, shown once, with the settings of a client that has it in them. */
import { copyBlock, copyField } from './copy-field.js';
import { h } from './dom.js';

/** @import { IssuedToken, Surface } from './setup-payloads.d.ts' */
/** @typedef {import('./payloads.d.ts').Child} Child */

/** The address of the gateway, as the page itself has it. */
const ROOT = new URL('.', document.baseURI).href.replace(/\/$/, '');

/**
 * @param {IssuedToken} issued
 * @param {string | null} mailboxId the mailbox of the sample calls
 * @returns {HTMLElement}
 */
export function tokenPanel({ token, surface, secret_shown: isShown }, mailboxId) {
  return h(
    'section',
    { class: 'card secret', 'aria-labelledby': 'secret' },
    h('h2', { id: 'secret', tabindex: -1 }, 'Token'),
    !isShown || token === undefined
      ? h('p', null, 'It was shown before and cannot be shown again. Issue another one, and revoke this one.')
      : [
          h('p', null, 'Store it now where the program reads its secrets. It is shown only now.'),
          copyField(token, 'token'),
          settingsOf(surface, token, mailboxId),
        ],
  );
}

/**
 * @param {Surface} surface
 * @param {string} token
 * @param {string | null} mailboxId
 */
const settingsOf = (surface, token, mailboxId) =>
  surface === 'mcp'
    ? [
        h('h3', null, 'Settings of an MCP client'),
        copyBlock(clientSettings(token), 'MCP settings'),
        h('h3', null, 'Check it from a shell'),
        copyBlock(initializeCall(token), 'MCP call'),
      ]
    : [h('h3', null, 'Call it from a shell'), copyBlock(restCalls(token, mailboxId), 'REST calls')];

/** @param {string} token */
const clientSettings = (token) =>
  JSON.stringify(
    {
      mcpServers: {
        mailbox: { type: 'http', url: `${ROOT}/mcp`, headers: { Authorization: `Bearer ${token}` } },
      },
    },
    null,
    2,
  );

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'curl', version: '1' },
  },
});

/** @param {string} token */
const initializeCall = (token) =>
  [
    `curl ${ROOT}/mcp \\`,
    `  -H 'Authorization: Bearer ${token}' \\`,
    `  -H 'Accept: application/json, text/event-stream' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${INITIALIZE}'`,
  ].join('\n');

/**
 * @param {string} token
 * @param {string | null} mailboxId
 */
function restCalls(token, mailboxId) {
  const api = `TOKEN='${token}'\nAPI=${ROOT}/api/v1`;
  if (mailboxId === null) return `${api}\ncurl -H "Authorization: Bearer $TOKEN" $API/identity`;
  return [
    api,
    `curl -H "Authorization: Bearer $TOKEN" \\`,
    `  "$API/mailboxes/${mailboxId}/messages?limit=1&include_body=text"`,
  ].join('\n');
}
