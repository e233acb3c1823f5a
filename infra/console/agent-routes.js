/** The REST routes of agents and tokens, with their types (`contract.md` 17). */
import { all, call } from './api.js';

/** @import { Agent, IssuedToken, NewToken, Token } from './setup-payloads.d.ts' */

/** @param {string} id */
const agentPath = (id) => `/agents/${encodeURIComponent(id)}`;
/** @param {string} id */
const tokenPath = (id) => `/tokens/${encodeURIComponent(id)}`;

/**
 * Those of this person; for owners and admins those of the organisation.
 * @param {AbortSignal} [signal]
 * @returns {Promise<Agent[]>}
 */
export const listAgents = (signal) => all('/agents', signal);

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Agent>}
 */
export const readAgent = (id, signal) => call('GET', agentPath(id), { signal });

/**
 * @param {{ name: string }} body
 * @param {string} key
 * @returns {Promise<Agent>}
 */
export const createAgent = (body, key) => call('POST', '/agents', { body, key });

/**
 * @param {string} id
 * @param {{ name?: string, owner_id?: string }} body
 * @param {string} key
 * @returns {Promise<Agent>}
 */
export const changeAgent = (id, body, key) => call('PATCH', agentPath(id), { body, key });

/**
 * @param {string} id
 * @param {string} key
 * @returns {Promise<unknown>}
 */
export const deleteAgent = (id, key) => call('DELETE', agentPath(id), { key });

/**
 * Those of this person and of their agents; for owners and admins those of the organisation.
 * @param {AbortSignal} [signal]
 * @returns {Promise<Token[]>}
 */
export const listTokens = (signal) => all('/tokens', signal);

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Token>}
 */
export const readToken = (id, signal) => call('GET', tokenPath(id), { signal });

/**
 * @param {NewToken} body
 * @param {string} key
 * @returns {Promise<IssuedToken>}
 */
export const issueToken = (body, key) => call('POST', '/tokens', { body, key });

/**
 * @param {string} id
 * @param {{ name?: string, expires_at?: string }} body
 * @param {string} key
 * @returns {Promise<Token>}
 */
export const changeToken = (id, body, key) => call('PATCH', tokenPath(id), { body, key });

/**
 * @param {string} id
 * @param {string} key
 * @returns {Promise<unknown>}
 */
export const revokeToken = (id, key) => call('DELETE', tokenPath(id), { key });
