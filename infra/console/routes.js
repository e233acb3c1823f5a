/** The REST routes that this page uses, with their types (`contract.md` 17). */
import { call, download } from './api.js';

/** @import { Approval, Delivery, EndpointSettings, Identity, Monitored, Operation, Page, PasswordLink, Preview, Session, ShownSecret, SignedIn, WebhookEndpoint } from './payloads.d.ts' */

/**
 * @param {string} id
 * @param {string} [rest]
 */
const approvalPath = (id, rest = '') => `/approvals/${encodeURIComponent(id)}${rest}`;

/**
 * @param {{ email: string, password: string }} body
 * @returns {Promise<SignedIn>}
 */
export const signIn = (body) => call('POST', '/auth/login', { body });

/**
 * @param {{ token: string, email: string, password: string, name: string, org_name: string }} body
 * @returns {Promise<unknown>}
 */
export const setUp = (body) => call('POST', '/auth/setup', { body });

/**
 * @param {{ token: string }} body
 * @returns {Promise<PasswordLink>}
 */
export const readPasswordLink = (body) => call('POST', '/auth/password/reset/link', { body });

/**
 * @param {{ token: string, password: string }} body
 * @returns {Promise<unknown>}
 */
export const resetPassword = (body) => call('POST', '/auth/password/reset', { body });

/**
 * @param {string} password
 * @returns {Promise<unknown>}
 */
export const confirmPassword = (password) => call('POST', '/auth/step-up', { body: { password } });

/** @returns {Promise<unknown>} */
export const endThisSession = () => call('POST', '/auth/logout');

/** @returns {Promise<Session>} */
export const readSession = () => call('GET', '/auth/session');

/** @returns {Promise<Identity>} */
export const readIdentity = () => call('GET', '/identity');

/**
 * @param {Record<string, string>} query
 * @param {AbortSignal} signal
 * @returns {Promise<Page<Approval>>}
 */
export const listApprovals = (query, signal) =>
  call('GET', `/approvals?${new URLSearchParams(query).toString()}`, { signal });

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Approval>}
 */
export const readApproval = (id, signal) => call('GET', approvalPath(id), { signal });

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Preview>}
 */
export const readPreview = (id, signal) => call('GET', approvalPath(id, '/preview'), { signal });

/**
 * One attachment as it would be sent.
 * @param {string} id
 * @param {{ index: number, disposition: 'attachment' | 'inline' }} which
 * @param {AbortSignal} signal
 */
export const readAttachment = (id, { index, disposition }, signal) =>
  download(approvalPath(id, `/attachments/${String(index)}?disposition=${disposition}`), signal);

/**
 * @param {string} id
 * @param {Record<string, string>} query `format` and what it discloses
 * @param {AbortSignal} signal
 */
export const readEvidence = (id, query, signal) =>
  download(approvalPath(id, `/evidence?${new URLSearchParams(query).toString()}`), signal);

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Operation>}
 */
export const readOperation = (id, signal) => call('GET', `/operations/${encodeURIComponent(id)}`, { signal });

/**
 * @param {{ approval_ids: string[], cursor?: string, timeout_seconds: number }} body
 * @param {AbortSignal} signal
 * @returns {Promise<Monitored>}
 */
export const monitorApprovals = (body, signal) =>
  call('POST', '/approvals/monitor_approval', { body, signal });

/**
 * @param {string} id
 * @param {{ decision: 'approve' | 'reject', content_hash: string, reason?: string }} body
 * @param {string} key
 * @returns {Promise<Approval>}
 */
export const decideApproval = (id, body, key) => call('POST', approvalPath(id, '/decision'), { body, key });

/**
 * @param {string} id
 * @param {{ reason?: string }} body
 * @param {string} key
 * @returns {Promise<Approval>}
 */
export const cancelApproval = (id, body, key) =>
  call('POST', approvalPath(id, '/cancel_approval'), { body, key });

/**
 * @param {string} id
 * @param {{ content_hash: string }} body
 * @param {string} key
 * @returns {Promise<unknown>}
 */
export const commitApproval = (id, body, key) =>
  call('POST', approvalPath(id, '/approval_commit'), { body, key });

/**
 * @param {string} id
 * @param {string} [rest]
 */
const endpointPath = (id, rest = '') => `/webhook-endpoints/${encodeURIComponent(id)}${rest}`;

/**
 * @param {Record<string, string>} query
 * @param {AbortSignal} signal
 * @returns {Promise<Page<WebhookEndpoint>>}
 */
export const listEndpoints = (query, signal) =>
  call('GET', `/webhook-endpoints?${new URLSearchParams(query).toString()}`, { signal });

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<WebhookEndpoint>}
 */
export const readEndpoint = (id, signal) => call('GET', endpointPath(id), { signal });

/**
 * @param {EndpointSettings} body
 * @param {string} key
 * @returns {Promise<WebhookEndpoint & ShownSecret>}
 */
export const createEndpoint = (body, key) => call('POST', '/webhook-endpoints', { body, key });

/**
 * Refused when the endpoint is no longer in this version.
 * @param {Pick<WebhookEndpoint, 'id' | 'version'>} endpoint
 * @param {Partial<EndpointSettings> & { status?: 'active' | 'paused' }} body
 * @param {string} key
 * @returns {Promise<WebhookEndpoint>}
 */
export const changeEndpoint = ({ id, version }, body, key) =>
  call('PATCH', endpointPath(id), { body, key, ifVersion: version });

/**
 * @param {Pick<WebhookEndpoint, 'id' | 'version'>} endpoint
 * @param {string} key
 * @returns {Promise<unknown>}
 */
export const deleteEndpoint = ({ id, version }, key) =>
  call('DELETE', endpointPath(id), { key, ifVersion: version });

/**
 * @param {string} id
 * @param {{ overlap_seconds: number }} body
 * @param {string} key
 * @returns {Promise<ShownSecret & { previous_secret_expires_at: string | null }>}
 */
export const rotateSecret = (id, body, key) =>
  call('POST', endpointPath(id, '/rotate-secret'), { body, key });

/**
 * @param {string} id
 * @param {string} key
 * @returns {Promise<Delivery>}
 */
export const testEndpoint = (id, key) => call('POST', endpointPath(id, '/test'), { body: {}, key });

/**
 * @param {string} id
 * @param {{ since: string, status?: string }} body
 * @param {string} key
 * @returns {Promise<{ count: number }>}
 */
export const replayEndpoint = (id, body, key) => call('POST', endpointPath(id, '/replay'), { body, key });

/**
 * @param {Record<string, string>} query
 * @param {AbortSignal} signal
 * @returns {Promise<Page<Delivery>>}
 */
export const listDeliveries = (query, signal) =>
  call('GET', `/deliveries?${new URLSearchParams(query).toString()}`, { signal });

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Delivery>}
 */
export const readDelivery = (id, signal) => call('GET', `/deliveries/${encodeURIComponent(id)}`, { signal });

/**
 * @param {string} id
 * @param {string} key
 * @returns {Promise<Delivery>}
 */
export const replayDelivery = (id, key) =>
  call('POST', `/deliveries/${encodeURIComponent(id)}/replay`, { body: {}, key });
