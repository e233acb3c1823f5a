/** How far an organisation is on the road to an agent's first archived mail, from what there is already. */
import { listAgents, listTokens } from './agent-routes.js';
import { listAudit, listGrants, listMailboxes } from './mailbox-routes.js';

/** @import { AuditLine } from './payloads.d.ts' */
/** @import { Agent, Grant, Mailbox, Token } from './setup-payloads.d.ts' */

/**
 * @typedef {object} Road
 * @property {Mailbox | null} mailbox
 * @property {Agent | null} agent
 * @property {Grant | null} grant of the agent on the mailbox
 * @property {Token | null} token of the agent, which can be used
 */

/** @param {readonly Token[]} tokens */
const wasUsed = (tokens) =>
  tokens.some(({ principal, last_used_at: at }) => principal.kind === 'agent' && at != null);

/**
 * Whether there is a mailbox and an agent has used a token. Throws `ApiError`.
 * @param {AbortSignal} signal
 */
export async function isRoadDone(signal) {
  const [mailboxes, tokens] = await Promise.all([listMailboxes(signal), listTokens(signal)]);
  return mailboxes.length > 0 && wasUsed(tokens);
}

/**
 * The newest of each, and the agent that has a grant on the mailbox before others. Throws `ApiError`.
 * @param {AbortSignal} signal
 * @returns {Promise<Road>}
 */
export async function readRoad(signal) {
  const [mailboxes, agents, tokens] = await Promise.all([
    listMailboxes(signal),
    listAgents(signal),
    listTokens(signal),
  ]);
  const [mailbox = null] = mailboxes;
  const grants = mailbox === null ? [] : await listGrants(mailbox.id, signal);
  const granted = agents.find(({ id }) => grants.some(({ principal }) => principal.id === id));
  const agent = granted ?? agents[0] ?? null;
  return {
    mailbox,
    agent,
    grant: grants.find(({ principal }) => principal.id === agent?.id) ?? null,
    token: tokens.find(({ principal, status }) => principal.id === agent?.id && status === 'active') ?? null,
  };
}

/**
 * @typedef {object} FirstSteps
 * @property {string | null} readAt when the agent first read a mail
 * @property {string | null} archivedAt when it first archived one
 */

/** Actions are few before the first archive; more are not looked at. */
const LOOKED_AT = '200';

/**
 * What the agent has done, from the audit trail. Throws `ApiError`.
 * @param {{ agentId: string, mailboxId: string }} who
 * @param {AbortSignal} signal
 * @returns {Promise<FirstSteps>}
 */
export async function firstSteps({ agentId, mailboxId }, signal) {
  const of = (/** @type {string} */ type, /** @type {string} */ limit) =>
    listAudit({ actor: agentId, mailbox_id: mailboxId, type, order: 'asc', limit }, signal);
  const [reads, actions] = await Promise.all([
    of('BodiesRead', '1'),
    of('ActionOutcomesRecorded', LOOKED_AT),
  ]);
  return {
    readAt: reads.items[0]?.occurred_at ?? null,
    archivedAt: actions.items.find(hasArchived)?.occurred_at ?? null,
  };
}

/** @param {AuditLine} line */
function hasArchived({ data }) {
  const results = data['results'];
  return (
    Array.isArray(results) &&
    results.some(({ action, outcome }) => action === 'archive' && outcome === 'done')
  );
}
