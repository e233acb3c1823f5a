/** The REST routes of legal holds, with their types (`contract.md` 17). */
import { all, call } from './api.js';

/** @import { Hold, NewHold } from './audit-payloads.d.ts' */

/**
 * Also those that were released, the newest first.
 * @param {AbortSignal} signal
 * @returns {Promise<Hold[]>}
 */
export const listHolds = (signal) => all('/legal-holds', signal);

/** @param {string} id */
const holdPath = (id) => `/legal-holds/${encodeURIComponent(id)}`;

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Hold>}
 */
export const readHold = (id, signal) => call('GET', holdPath(id), { signal });

/**
 * @param {NewHold} body
 * @param {string} key
 * @returns {Promise<Hold>}
 */
export const placeHold = (body, key) => call('POST', '/legal-holds', { body, key });

/**
 * Asks for the release, or releases as the second person.
 * @param {string} id
 * @param {{ reason: string }} body
 * @param {string} key
 * @returns {Promise<Hold>}
 */
export const releaseHold = (id, body, key) => call('POST', `${holdPath(id)}/release`, { body, key });
