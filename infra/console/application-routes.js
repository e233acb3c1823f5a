/** The REST routes of applications that connect by OAuth, with their types (`contract.md` 17, 18). */
import { all, call, readForThisBrowser } from './api.js';

/** @import { AuthorizationDecision, AuthorizationRequest, ConnectedApplication, CreatedOAuthClient, NewOAuthClient, OAuthClient, OAuthClientRule } from './application-payloads.d.ts' */

/**
 * Known only to the browser that the application sent here.
 * @param {string} uid
 * @param {AbortSignal} signal
 * @returns {Promise<{ consent_token: string }>}
 */
export const readInteraction = (uid, signal) =>
  readForThisBrowser(`oauth/authorize/${encodeURIComponent(uid)}/interaction`, signal);

/**
 * @param {{ consent_token: string }} body
 * @param {AbortSignal} signal
 * @returns {Promise<AuthorizationRequest>}
 */
export const readAuthorizationRequest = (body, signal) =>
  call('POST', '/auth/authorization-requests/read', { body, signal });

/**
 * @param {AuthorizationDecision} body
 * @returns {Promise<{ redirect_to: string }>}
 */
export const decideAuthorizationRequest = (body) => call('POST', '/auth/authorization-requests', { body });

/**
 * Those of one person, or for owners those of everybody.
 * @param {AbortSignal} signal
 * @param {string} [userId]
 * @returns {Promise<ConnectedApplication[]>}
 */
export const listConnections = (signal, userId) =>
  all('/org/connected-applications', signal, userId === undefined ? {} : { user_id: userId });

/**
 * @param {string} id
 * @param {string} key
 * @returns {Promise<unknown>}
 */
export const disconnect = (id, key) =>
  call('DELETE', `/org/connected-applications/${encodeURIComponent(id)}`, { key });

/** @param {string} id */
const clientPath = (id) => `/org/oauth-clients/${encodeURIComponent(id)}`;

/**
 * @param {AbortSignal} signal
 * @returns {Promise<OAuthClient[]>}
 */
export const listClients = (signal) => all('/org/oauth-clients', signal);

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<OAuthClient>}
 */
export const readClient = (id, signal) => call('GET', clientPath(id), { signal });

/**
 * @param {NewOAuthClient} body
 * @param {string} key
 * @returns {Promise<CreatedOAuthClient>}
 */
export const createClient = (body, key) => call('POST', '/org/oauth-clients', { body, key });

/**
 * Refused when the application is no longer in this version.
 * @param {Pick<OAuthClient, 'id' | 'version'>} client
 * @param {{ name?: string, redirect_uris?: string[], scopes?: string[] | null }} body
 * @param {string} key
 * @returns {Promise<OAuthClient>}
 */
export const changeClient = ({ id, version }, body, key) =>
  call('PATCH', clientPath(id), { body, key, ifVersion: version });

/**
 * @param {string} id
 * @param {string} key
 * @returns {Promise<unknown>}
 */
export const deleteClient = (id, key) => call('DELETE', clientPath(id), { key });

/**
 * @param {AbortSignal} signal
 * @returns {Promise<{ oauth_clients: OAuthClientRule }>}
 */
export const readRule = (signal) => call('GET', '/org', { signal });

/**
 * @param {OAuthClientRule} rule
 * @returns {Promise<{ oauth_clients: OAuthClientRule }>}
 */
export const setRule = (rule) => call('PATCH', '/org', { body: { oauth_clients: rule } });
