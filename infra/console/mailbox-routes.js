/** The REST routes of mailboxes, their grants and the audit trail, with their types (`contract.md` 17). */
import { all, call } from './api.js';

/** @import { AuditLine, Page } from './payloads.d.ts' */
/** @import { ConnectionTest, Discovery, Folder, Grant, GrantTerms, Mailbox, MailboxChange, NewMailbox, ProviderAuthorization, ProviderLogin } from './setup-payloads.d.ts' */

/**
 * @param {string} id
 * @param {string} [rest]
 */
const mailboxPath = (id, rest = '') => `/mailboxes/${encodeURIComponent(id)}${rest}`;

/**
 * @param {string} email
 * @returns {Promise<Discovery>}
 */
export const discoverMailbox = (email) => call('POST', '/mailboxes/autodiscovery', { body: { email } });

/**
 * Those that this person may list, the newest first.
 * @param {AbortSignal} [signal]
 * @returns {Promise<Mailbox[]>}
 */
export const listMailboxes = (signal) => all('/mailboxes', signal);

/**
 * Those that can still be restored.
 * @param {AbortSignal} signal
 * @returns {Promise<Mailbox[]>}
 */
export const listRemovedMailboxes = (signal) => all('/mailboxes', signal, { removed: 'true' });

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Mailbox>}
 */
export const readMailbox = (id, signal) => call('GET', mailboxPath(id), { signal });

/**
 * @param {NewMailbox} body
 * @param {string} key
 * @returns {Promise<Mailbox>}
 */
export const createMailbox = (body, key) => call('POST', '/mailboxes', { body, key });

/**
 * Refused when the mailbox is no longer in this version.
 * @param {Pick<Mailbox, 'id' | 'version'>} mailbox
 * @param {MailboxChange} body
 * @param {string} key
 * @returns {Promise<Mailbox>}
 */
export const changeMailbox = ({ id, version }, body, key) =>
  call('PATCH', mailboxPath(id), { body, key, ifVersion: version });

/**
 * @param {string} id
 * @param {string} key
 * @returns {Promise<Mailbox>}
 */
export const removeMailbox = (id, key) => call('DELETE', mailboxPath(id), { key });

/**
 * @param {string} id
 * @param {{ username?: string, password: string }} body
 * @param {string} key
 * @returns {Promise<unknown>}
 */
export const storeCredentials = (id, body, key) =>
  call('PUT', mailboxPath(id, '/credentials'), { body, key });

/**
 * @param {string} id
 * @returns {Promise<ConnectionTest>}
 */
export const testMailbox = (id) => call('POST', mailboxPath(id, '/connection-tests'), { body: {} });

/**
 * @param {string} id
 * @param {ProviderLogin['provider']} provider
 * @returns {Promise<ProviderAuthorization>}
 */
export const authorizeProvider = (id, provider) =>
  call('POST', mailboxPath(id, '/provider-authorization'), { body: { provider } });

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Page<Folder>>}
 */
export const listFolders = (id, signal) => call('GET', mailboxPath(id, '/folders/list'), { signal });

/**
 * @param {string} mailboxId
 * @param {AbortSignal} signal
 * @returns {Promise<Grant[]>}
 */
export const listGrants = (mailboxId, signal) => all(mailboxPath(mailboxId, '/grants'), signal);

/**
 * @param {string} mailboxId
 * @param {GrantTerms & { principal_id: string }} body
 * @param {string} key
 * @returns {Promise<Grant>}
 */
export const giveGrant = (mailboxId, body, key) =>
  call('POST', mailboxPath(mailboxId, '/grants'), { body, key });

/**
 * @param {Pick<Grant, 'id' | 'mailbox_id'>} grant
 * @param {GrantTerms} body
 * @param {string} key
 * @returns {Promise<Grant>}
 */
export const changeGrant = ({ id, mailbox_id: mailboxId }, body, key) =>
  call('PATCH', mailboxPath(mailboxId, `/grants/${encodeURIComponent(id)}`), { body, key });

/**
 * @param {Pick<Grant, 'id' | 'mailbox_id'>} grant
 * @param {string} key
 * @returns {Promise<unknown>}
 */
export const endGrant = ({ id, mailbox_id: mailboxId }, key) =>
  call('DELETE', mailboxPath(mailboxId, `/grants/${encodeURIComponent(id)}`), { key });

/**
 * @param {Record<string, string>} query
 * @param {AbortSignal} signal
 * @returns {Promise<Page<AuditLine>>}
 */
export const listAudit = (query, signal) =>
  call('GET', `/audit?${new URLSearchParams(query).toString()}`, { signal });
