/** Calls of the REST face. What it refuses is thrown as an `ApiError` with its own words. */
import { session } from './session.js';

/** @import { ErrorBody, Issue } from './payloads.d.ts' */

/** Beside the page, so that a gateway below a path of a larger site finds it too. */
const ROOT = new URL('api/v1', document.baseURI).href;
const SIGNED_OUT = ['unauthenticated', 'token_expired', 'token_revoked'];

export class ApiError extends Error {
  /**
   * @param {string} code of the gateway's closed table, or `unreachable`, `unreadable`, `aborted`
   * @param {string} message
   * @param {{ requestId?: string, retryAfterSeconds?: number, issues?: Issue[], cause?: unknown }} [more]
   */
  constructor(code, message, more = {}) {
    super(message, { cause: more.cause });
    this.name = 'ApiError';
    this.code = code;
    this.requestId = more.requestId ?? null;
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
    this.issues = more.issues ?? [];
  }
}

/** @type {() => Promise<void>} */
let stepUp = () => Promise.reject(new ApiError('step_up_required', 'Confirm your password first.'));

/**
 * Who asks for the password again when the gateway wants it; rejects when the person would rather not.
 * @param {() => Promise<void>} ask
 */
export function askForStepUpWith(ask) {
  stepUp = ask;
}

/**
 * @typedef {object} CallOptions
 * @property {unknown} [body] sent as JSON
 * @property {string} [key] Idempotency-Key
 * @property {AbortSignal} [signal]
 */

/**
 * One call with the session's bearer; asked for the password again, it asks the person and repeats the call. A session that
 * is over ends here too. Throws `ApiError`.
 * @param {string} method
 * @param {string} path below `/api/v1`
 * @param {CallOptions} [options]
 * @returns {Promise<any>}
 */
export async function call(method, path, options = {}) {
  return await inSession(async () => jsonOf(await (await send(method, path, options)).text()));
}

/**
 * The bytes of a file that is read with the session's bearer, in memory. Throws `ApiError`.
 * @param {string} path below `/api/v1`
 * @param {AbortSignal} signal
 * @returns {Promise<{ bytes: Blob, isInline: boolean }>} `isInline`: the gateway says that it may be shown in place
 */
export async function download(path, signal) {
  return await inSession(async () => {
    const response = await send('GET', path, { signal });
    const disposition = response.headers.get('content-disposition') ?? '';
    return { bytes: await response.blob(), isInline: disposition.startsWith('inline') };
  });
}

/**
 * @template T
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
async function inSession(act) {
  try {
    return await reachable(act);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (SIGNED_OUT.includes(error.code)) session.end();
    if (error.code !== 'step_up_required') throw error;
    await stepUp();
    return await reachable(act);
  }
}

/**
 * What the network refuses, before or amid an answer, has a code like everything else.
 * @template T
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
async function reachable(act) {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (error instanceof DOMException && error.name === 'AbortError')
      throw new ApiError('aborted', 'Nobody waits for this any more.');
    throw new ApiError('unreachable', 'The gateway cannot be reached.', { cause: error });
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {CallOptions} options
 */
async function send(method, path, { body, key, signal }) {
  const response = await fetch(`${ROOT}${path}`, {
    method,
    headers: {
      ...(session.token === null ? {} : { authorization: `Bearer ${session.token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  });
  if (response.ok) return response;
  throw errorOf(/** @type {ErrorBody | null} */ (jsonOf(await response.text())), response.status);
}

/**
 * @param {string} text
 * @returns {unknown} null for no body and for one that is no JSON
 */
function jsonOf(text) {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * @param {ErrorBody | null} answer null when something before the gateway answered
 * @param {number} status
 */
function errorOf(answer, status) {
  if (answer === null)
    return new ApiError('unreadable', `The answer was ${String(status)} and no error of the gateway.`);
  const { code, message, request_id: requestId, retry_after_seconds: wait, details } = answer.error;
  return new ApiError(code, message, {
    requestId,
    issues: details.issues ?? [],
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
  });
}

/** A key of its own for each thing a person does, kept when the call has to be repeated. */
export const newKey = () =>
  `console-${Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
