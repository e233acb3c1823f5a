/** `/oauth`: exactly the routes that are in use; nothing else of the library can be reached. */
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Ports } from '../../commands/ports/ports.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import type { SigningKey } from '../security/vault.ts';
import { consentToken } from './authorization-requests.ts';
import { isBrowserOf, LibraryDoor, type LibraryDoorOptions } from './library-door.ts';
import { answered, refuseAsOAuth, refuseAsService, refuseWithPage } from './oauth-refusals.ts';

export interface OAuthRouterOptions extends LibraryDoorOptions {
  readonly ports: LibraryDoorOptions['ports'] & Pick<Ports, 'accessLog' | 'log'>;
  readonly signingKeys: readonly SigningKey[];
  readonly selfRegistration: boolean;
}

/** Any page may call what needs no cookie: a browser sends nothing of the person along (Fetch standard, CORS). */
const OPEN_TO_ALL = new Map([
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', 'Request-Id, Retry-After, WWW-Authenticate'],
]);
const PREFLIGHT = new Map([
  ['Access-Control-Allow-Methods', 'GET, POST'],
  ['Access-Control-Allow-Headers', '*, Authorization'],
  ['Access-Control-Max-Age', '3600'],
]);
const KEYS_CACHED = 'public, max-age=300';

/** A router for `/oauth`, behind the provider's callback. */
export function oauthRouter(options: OAuthRouterOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const { ports } = options;
  const door = new LibraryDoor(options);
  const only = (path: string, method: 'GET' | 'POST', handle: RequestHandler): void => {
    router.all(path, onlyBy(method), handle);
  };
  const open = (path: string, method: 'GET' | 'POST', handle: RequestHandler): void => {
    router.all(path, openToAll, onlyBy(method), handle);
  };
  only(
    '/authorize',
    'GET',
    answered(ports, (...given) => door.authorize(...given), refuseWithPage),
  );
  only(
    '/authorize/:uid',
    'GET',
    answered(ports, (...given) => door.resume(...given), refuseWithPage),
  );
  const tell = (request: Request, response: Response) => tellBrowser(options, request, response);
  only('/authorize/:uid/interaction', 'GET', answered(ports, tell, refuseAsService));
  const post = answered(ports, (...given) => door.post(...given), refuseAsOAuth);
  open('/token', 'POST', post);
  open('/revoke', 'POST', post);
  if (options.selfRegistration)
    open(
      '/register',
      'POST',
      answered(ports, (...given) => door.register(...given), refuseAsOAuth),
    );
  const keys = publicKeys(options.signingKeys);
  open('/jwks', 'GET', (_, response) => {
    response.setHeader('Cache-Control', KEYS_CACHED);
    response.json(keys);
  });
  return router;
}

const onlyBy =
  (method: 'GET' | 'POST'): RequestHandler =>
  (request, response, next) => {
    if (request.method === method) {
      next();
      return;
    }
    response.setHeader('Allow', method);
    refuseAsService(response, new GatewayError('method_not_allowed', `This path takes ${method}.`));
  };

const openToAll: RequestHandler = (request, response, next) => {
  response.setHeaders(OPEN_TO_ALL);
  if (request.method !== 'OPTIONS') {
    next();
    return;
  }
  response.setHeaders(PREFLIGHT);
  response.writeHead(204).end();
};

/** All keys that a token may be verified with (RFC 7517). */
const publicKeys = (signingKeys: readonly SigningKey[]): object => ({
  keys: signingKeys.map(({ kid, publicKey }) => ({
    ...publicKey.export({ format: 'jwk' }),
    kid,
    alg: 'ES256',
    use: 'sig',
  })),
});

/** The consent token, for the page of the console in the browser in which the request arrived. */
async function tellBrowser(
  { rows, ports }: OAuthRouterOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const uid = String(request.params['uid']);
  if (!isBrowserOf(request, uid) || (await rows.find('Interaction', uid)) === null)
    throw notFound('connection in this browser');
  response.setHeader('Cache-Control', 'no-store');
  response.json({ consent_token: consentToken(ports.ids, uid) });
}
