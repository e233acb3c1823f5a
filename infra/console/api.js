/** Calls the REST API. Errors are thrown as `ApiError` with the gateway's message. */
import { session } from './session.js';

/** @import { ErrorBody, Issue, Page } from './payloads.d.ts' */

/** Relative to the page, for a gateway below a path of a larger site. */
const ROOT = new URL('api/v1', document.baseURI).href;
const SIGNED_OUT = ['unauthenticated', 'token_expired', 'token_revoked'];

export class ApiError extends Error {
  /**
   * @param {string} code an error code of the gateway, or `unreachable`, `unreadable`, `aborted`
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

/**
 * Position of this page's newest write: what it reads afterwards includes it.
 * @type {string | null}
 */
let position = null;

/** @type {() => Promise<void>} */
let stepUp = () => Promise.reject(new ApiError('step_up_required', 'Confirm your password first.'));

/**
 * Sets what asks for the password again when the gateway requires it; it rejects when the person cancels.
 * @param {() => Promise<void>} ask
 */
export function askForStepUpWith(ask) {
  stepUp = ask;
}

/**
 * @typedef {object} CallOptions
 * @property {unknown} [body] sent as JSON
 * @property {string} [key] Idempotency-Key
 * @property {number} [ifVersion] If-Match: only while the object is in this version
 * @property {number} [fromByte] Range: the rest of a file from here on
 * @property {AbortSignal} [signal]
 */

/**
 * One call with the session's bearer. A step-up is asked for and the call repeated; an expired session is ended. Throws
 * `ApiError`.
 * @param {string} method
 * @param {string} path below `/api/v1`
 * @param {CallOptions} [options]
 * @returns {Promise<any>}
 */
export async function call(method, path, options = {}) {
  return await inSession(async () => jsonOf(await (await send(method, path, options)).text()));
}

/**
 * Downloads a file into memory. Throws `ApiError`.
 * @param {string} path below `/api/v1`
 * @param {AbortSignal} signal
 * @returns {Promise<{ bytes: Blob, isInline: boolean }>} `isInline`: the gateway allows it to be shown
 */
export async function download(path, signal) {
  return await inSession(async () => {
    const response = await send('GET', path, { signal });
    const disposition = response.headers.get('content-disposition') ?? '';
    return { bytes: await response.blob(), isInline: disposition.startsWith('inline') };
  });
}

/**
 * Opens a file that is read piece by piece. Throws `ApiError`, also while it is read.
 * @param {string} path below `/api/v1`
 * @param {{ signal: AbortSignal, fromByte?: number }} options
 * @returns {Promise<{ headers: Headers, isRest: boolean, pieces: AsyncIterable<Uint8Array<ArrayBuffer>> }>} `isRest`: it begins at `fromByte`
 */
export async function openFile(path, options) {
  const response = await inSession(() => send('GET', path, options));
  return { headers: response.headers, isRest: response.status === 206, pieces: piecesOf(response) };
}

/** @param {Response} response */
async function* piecesOf(response) {
  const reader = response.body?.getReader();
  for (;;) {
    const piece = await reachable(async () => await reader?.read());
    if (piece?.value === undefined) return;
    yield piece.value;
  }
}

/**
 * @template T
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
async function inSession(act) {
  const bearer = session.token;
  try {
    return await reachable(act);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // A late answer to the bearer of an earlier session says nothing of this one.
    if (SIGNED_OUT.includes(error.code) && session.token === bearer) session.end();
    if (error.code !== 'step_up_required') throw error;
    await stepUp();
    return await reachable(act);
  }
}

/**
 * Gives network errors a code too.
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
      throw new ApiError('aborted', 'The request was cancelled.');
    throw new ApiError('unreachable', 'The gateway cannot be reached.', { cause: error });
  }
}

/**
 * Reads what the gateway tells this browser alone, which it knows by a cookie. Throws `ApiError`.
 * @param {string} path below the gateway
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function readForThisBrowser(path, signal) {
  return await reachable(async () => {
    const response = await fetch(new URL(path, document.baseURI), {
      ...{ signal, cache: 'no-store', credentials: 'same-origin', redirect: 'error' },
    });
    const answer = jsonOf(await response.text());
    if (response.ok) return answer;
    throw errorOf(/** @type {ErrorBody | null} */ (answer), response.status);
  });
}

/**
 * @param {string} method
 * @param {string} path
 * @param {CallOptions} options
 */
async function send(method, path, { body, key, ifVersion, fromByte, signal }) {
  const response = await fetch(`${ROOT}${path}`, {
    method,
    headers: {
      ...(session.token === null ? {} : { authorization: `Bearer ${session.token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(method === 'GET' && position !== null ? { 'if-position': position } : {}),
      ...(ifVersion === undefined ? {} : { 'if-match': `"${String(ifVersion)}"` }),
      ...(fromByte === undefined ? {} : { range: `bytes=${String(fromByte)}-` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  });
  position = response.headers.get('position') ?? position;
  if (response.ok) return response;
  throw errorOf(/** @type {ErrorBody | null} */ (jsonOf(await response.text())), response.status);
}

/**
 * @param {string} text
 * @returns {unknown} null without a body or for invalid JSON
 */
function jsonOf(text) {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * @param {ErrorBody | null} answer null when a proxy before the gateway answered
 * @param {number} status
 */
function errorOf(answer, status) {
  if (answer === null)
    return new ApiError('unreadable', `The answer was ${String(status)} and did not come from the gateway.`);
  const { code, message, request_id: requestId, retry_after_seconds: wait, details } = answer.error;
  return new ApiError(code, message, {
    requestId,
    issues: details.issues ?? [],
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
  });
}

const LARGEST_PAGE = 200;
const MOST_PAGES = 25;

/**
 * Every item of a list that is short as a rule; a longer one is read page by page. Throws `ApiError`.
 * @template Item
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @param {Record<string, string>} [wanted]
 * @returns {Promise<Item[]>}
 */
export async function all(path, signal, wanted = {}) {
  /** @type {Item[]} */
  const items = [];
  /** @type {Record<string, string>} */
  let from = {};
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = new URLSearchParams({ limit: String(LARGEST_PAGE), ...wanted, ...from });
    /** @type {Page<Item>} */
    const answer = await pageOf(`${path}?${query.toString()}`, signal);
    items.push(...answer.items);
    if (answer.page.next_cursor === null) return items;
    from = { cursor: answer.page.next_cursor };
  }
  return items;
}

/**
 * @template Item
 * @param {string} path
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Page<Item>>}
 */
const pageOf = (path, signal) => call('GET', path, signal === undefined ? {} : { signal });

/** An idempotency key for one action of a person; it is reused when the call is repeated. */
export const newKey = () =>
  `console-${Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

/**
 * For a form that can be corrected and sent again: the same request gets the same key, a changed one a new key.
 * @returns {(body: object) => string}
 */
export function keyPerRequest() {
  let [last, key] = ['', ''];
  return (body) => {
    const request = JSON.stringify(body);
    if (request !== last) [last, key] = [request, newKey()];
    return key;
  };
}
