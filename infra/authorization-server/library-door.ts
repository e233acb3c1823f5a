/** The way into the library: each request is brought into the form it expects. */
import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import { untilRightsKnown } from '../../commands/kernel/rights-known.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { Clients } from '../../read-api/http/clients.ts';
import { pathOf } from '../../read-api/http/oauth-metadata.ts';
import { PUBLIC_BODY_BYTES } from '../../read-api/http/public-face.ts';
import { readBody } from '../../read-api/http/request-body.ts';
import { wasDecidedHere } from './authorization-requests.ts';
import { pickMetadata } from './client-metadata.ts';
import { RESUME_COOKIE } from './library-answers.ts';
import type { StateRows } from './state-rows.ts';

export interface LibraryDoorOptions {
  readonly ports: Pick<Ports, 'attempts' | 'directory' | 'ids' | 'personal' | 'server'>;
  readonly rows: StateRows;
  readonly provider: Provider;
}

/** What the library is told of a request for authorization; the last three it refuses. */
const PARAMETERS: ReadonlySet<string> = new Set(
  (
    'response_type client_id redirect_uri scope state code_challenge code_challenge_method resource prompt ' +
    'request request_uri registration'
  ).split(' '),
);

export class LibraryDoor {
  readonly #options: LibraryDoorOptions;
  readonly #clients: Clients;
  readonly #answer: ReturnType<Provider['callback']>;
  readonly #base: URL;

  constructor(options: LibraryDoorOptions) {
    this.#options = options;
    this.#clients = new Clients(options.ports);
    this.#answer = options.provider.callback();
    this.#base = new URL(options.ports.server.baseUrl);
  }

  /** A new request of an application. Counted: nobody is signed in, and it is kept until somebody decides. */
  async authorize(request: Request, response: Response): Promise<void> {
    await untilRightsKnown(this.#options.ports.directory);
    await this.#count('authorize', request);
    const kept = [...parametersOf(request)].filter(([name]) => PARAMETERS.has(name));
    await this.#pass(request, response, `/authorize?${new URLSearchParams(kept).toString()}`);
  }

  /** The browser returns from the decision. Only the one that was given the decision goes on. */
  async resume(request: Request, response: Response): Promise<void> {
    await untilRightsKnown(this.#options.ports.directory);
    const uid = String(request.params['uid']);
    const proof = parametersOf(request).get('decided') ?? '';
    if (!isBrowserOf(request, uid) || !(await wasDecidedHere(this.#options.rows, uid, proof)))
      throw notDecided();
    // The library goes on with the request that the cookie names, whatever the address says.
    request.headers.cookie = `${RESUME_COOKIE}=${uid}`;
    await this.#pass(request, response, `/authorize/${encodeURIComponent(uid)}`);
  }

  async post(request: Request, response: Response): Promise<void> {
    await untilRightsKnown(this.#options.ports.directory);
    const body = await readBody(request, PUBLIC_BODY_BYTES);
    await this.#passBody(request, response, body);
  }

  /** Registrations are counted: each leaves something behind. */
  async register(request: Request, response: Response): Promise<void> {
    await this.#count('register', request);
    const body = await readBody(request, PUBLIC_BODY_BYTES);
    await this.#passBody(request, response, pickedBody(body));
  }

  /** By the network that asks. Throws `rate_limited`. */
  async #count(what: 'authorize' | 'register', request: Request): Promise<void> {
    const on = { account: `oauth ${what} from ${this.#clients.networkOf(request)}`, source: null };
    await this.#options.ports.attempts.attempt(on, () => Promise.resolve({}));
  }

  /** The library reads the bytes again. */
  async #passBody(request: Request, response: Response, body: Buffer): Promise<void> {
    request.body = body;
    request.headers['content-length'] = String(body.length);
    delete request.headers['transfer-encoding'];
    // It answers with a page to whom prefers one.
    request.headers.accept = 'application/json';
    // Its answers to other origins are given above.
    delete request.headers.origin;
    await this.#pass(request, response, request.path);
  }

  /** It derives its own addresses from these, whatever a proxy or a client has sent. */
  async #pass(request: Request, response: Response, url: string): Promise<void> {
    const { protocol, host } = this.#base;
    request.url = url;
    request.originalUrl = `${pathOf(this.#base.href)}/oauth${url}`;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    request.headers['x-forwarded-host'] = host;
    await this.#answer(request, response);
  }
}

/** True for the browser in which the request arrived. */
export const isBrowserOf = ({ headers }: Pick<Request, 'headers'>, uid: string): boolean =>
  (headers.cookie ?? '').split(';').some((cookie) => cookie.trim() === `${RESUME_COOKIE}=${uid}`);

const parametersOf = ({ url }: Request): URLSearchParams =>
  new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');

const notDecided = (): GatewayError =>
  new GatewayError(
    'not_found',
    'This connection was not decided in this browser, or its time is over. Begin again in the application.',
  );

/** Only what is picked reaches the library; what is no JSON object it refuses itself. */
function pickedBody(body: Buffer): Buffer {
  const given = objectIn(body.toString());
  return given === null ? body : Buffer.from(JSON.stringify(pickMetadata(given)));
}

function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const content: unknown = JSON.parse(text);
    const isObject = typeof content === 'object' && content !== null && !Array.isArray(content);
    return isObject ? (content as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}
