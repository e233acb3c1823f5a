/** Refusals of `/oauth`, in the form of the route: a page for a browser, RFC 6749 for an application. */
import type { Request, RequestHandler, Response } from 'express';
import type { Ports } from '../../commands/ports/ports.ts';
import { ERROR_TABLE, GatewayError } from '../../commands/values/errors.ts';
import { Clients } from '../../read-api/http/clients.ts';
import { PAGE_HEADERS } from '../../read-api/http/provider-page.ts';
import { ClientGone } from '../../read-api/http/request-body.ts';
import { sendError } from '../../read-api/http/rest-answer.ts';
import { failurePage } from './oauth-pages.ts';

type Handle = (request: Request, response: Response) => Promise<void>;
type Refuse = (response: Response, error: GatewayError) => void;

/** Refusals in the form of the route. Any other error is a defect: logged, and answered without its text. */
export const answered =
  (
    ports: Pick<Ports, 'accessLog' | 'ids' | 'log' | 'personal'>,
    handle: Handle,
    refuse: Refuse,
    clients = new Clients(ports),
  ): RequestHandler =>
  async (request, response) => {
    const { log, accessLog } = ports;
    try {
      await handle(request, response);
    } catch (error) {
      if (error instanceof ClientGone || response.headersSent) return;
      if (error instanceof GatewayError) {
        if (ERROR_TABLE[error.code].status < 500)
          accessLog.countRefusal(error.code, clients.networkOf(request));
        refuse(response, error);
        return;
      }
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      log.error('oauth: request failed', { request_id: response.getHeader('Request-Id'), error: text });
      refuse(response, new GatewayError('internal_error', 'The request failed.'));
    }
  };

const statusAndWait = (response: Response, { code, retryAfterSeconds }: GatewayError): number => {
  if (retryAfterSeconds !== undefined)
    response.setHeader('Retry-After', String(Math.ceil(retryAfterSeconds)));
  return ERROR_TABLE[code].status;
};

/** RFC 6749 has a code for an outage of each side. */
const codeOf = (status: number): string =>
  status === 429 || status === 503
    ? 'temporarily_unavailable'
    : status < 500
      ? 'invalid_request'
      : 'server_error';

export function refuseWithPage(response: Response, error: GatewayError): void {
  const status = statusAndWait(response, error);
  const requestId = String(response.getHeader('Request-Id'));
  const html = failurePage({ code: codeOf(status), description: error.message, requestId });
  response.setHeaders(PAGE_HEADERS);
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(html) });
  response.end(html);
}

/** The error body of the gateway's own interface, for its console and for paths that do not exist. */
export const refuseAsService: Refuse = (response, error) => {
  sendError(response, error, String(response.getHeader('Request-Id')));
};

export function refuseAsOAuth(response: Response, error: GatewayError): void {
  const status = statusAndWait(response, error);
  response.setHeader('Cache-Control', 'no-store');
  if (status === 413) response.setHeader('Connection', 'close');
  response.status(status).json({ error: codeOf(status), error_description: error.message });
}
