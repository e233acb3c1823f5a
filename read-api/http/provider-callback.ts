/** The callback of a mail provider (`contract.md` 18): GET changes nothing, only the POST connects. */
import express, { type Request, type Response, type Router } from 'express';
import { GatewayError, toErrorBody } from '../../commands/values/errors.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import {
  describeAuthorization,
  finishAuthorization,
  type ProviderAnswer,
} from '../../commands/mailboxes/finish-authorization.ts';
import { Clients } from './clients.ts';
import { connectedPage, consentPage, PAGE_HEADERS, refusalPage } from './provider-page.ts';
import { PUBLIC_BODY_BYTES } from './public-face.ts';

/** RFC 6749 4.1.2 and 4.1.2.1, RFC 9207: the parameters of an answer besides the state. */
const PARAMETERS = ['code', 'iss', 'error'] as const;
/** Codes of large providers have up to 2,000 characters. */
const MAX_PARAMETER_CHARS = 8_000;

type Render = (request: Request) => Promise<string>;

/** A router for the callback's path. Requires no bearer: the state in the address is the credential. */
export function providerCallback(ports: Ports): Router {
  const clients = new Clients(ports);
  const { origin } = new URL(ports.server.baseUrl);
  const router = express.Router();

  const answerOf = (request: Request, fields: unknown): ProviderAnswer => {
    const { state = '', ...parameters } = stringsOf(fields);
    return { state, parameters, sealClient: (principalId) => clients.seal(principalId, request) };
  };
  const show: Render = async (request) => {
    const answer = answerOf(request, request.query);
    const summary = await describeAuthorization(ports, answer);
    return consentPage(summary, { state: answer.state, ...answer.parameters }, ports.server.baseUrl);
  };
  const finish: Render = async (request) => {
    // Another site cannot guess the state; this prevents it from using a leaked one.
    if (request.headers.origin !== undefined && request.headers.origin !== origin) throw otherOrigin();
    return connectedPage(await finishAuthorization(ports, answerOf(request, request.body)));
  };
  const rendered = (render: Render) => async (request: Request, response: Response) => {
    try {
      send(response, 200, await render(request));
    } catch (error) {
      refuse(ports, clients.sourceOf(request), response, error);
    }
  };

  router.get('/', rendered(show));
  router.post('/', express.urlencoded({ extended: false, limit: PUBLIC_BODY_BYTES }), rendered(finish));
  router.all('/', (request, response) => {
    response.setHeader('Allow', 'GET, POST');
    refuse(ports, clients.sourceOf(request), response, otherMethod());
  });
  router.use((_: unknown, request: Request, response: Response, _next: unknown) => {
    refuse(ports, clients.sourceOf(request), response, malformed());
  });
  return router;
}

function send(response: Response, status: number, html: string): void {
  response.setHeaders(PAGE_HEADERS);
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(html) });
  response.end(html);
}

/** A refusal of a known request is recorded where it is raised; any other is counted. */
function refuse(ports: Ports, source: string, response: Response, error: unknown): void {
  const requestId = String(response.getHeader('Request-Id'));
  if (!(error instanceof GatewayError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    ports.log.error('http: request failed', { request_id: requestId, error: text });
  } else if (error.code === 'not_found' || error.code === 'origin_not_allowed') {
    ports.accessLog.countRefusal(error.code, source);
  }
  const { code, status, message } = toErrorBody(error, requestId);
  send(response, status, refusalPage(code, message, requestId));
}

/** Known parameters, each given once. Throws `invalid_request`. */
function stringsOf(fields: unknown): Readonly<Record<string, string>> {
  const given = (typeof fields === 'object' && fields !== null ? fields : {}) as Record<string, unknown>;
  const known: Record<string, string> = {};
  for (const name of ['state', ...PARAMETERS]) {
    const value = given[name];
    if (value === undefined) continue;
    if (typeof value !== 'string' || value.length > MAX_PARAMETER_CHARS) throw malformed();
    known[name] = value;
  }
  return known;
}

const malformed = (): GatewayError =>
  new GatewayError(
    'invalid_request',
    'This is not the response of a mail provider; request a new authorization.',
  );

const otherMethod = (): GatewayError =>
  new GatewayError('method_not_allowed', 'This page takes GET and POST.');

const otherOrigin = (): GatewayError =>
  new GatewayError('origin_not_allowed', 'This page was sent by another site, so nothing was done.');
