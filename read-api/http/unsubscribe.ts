/** `/unsubscribe/<token>` (RFC 8058): GET shows a page with a button and changes nothing, POST acts. */
import express, { type Request, type Response, type Router } from 'express';
import { personAuthor } from '../../commands/accounts/credentials.ts';
import { personOfToken, unsubscribe } from '../../commands/accounts/unsubscribe.ts';
import { escaped } from '../../commands/html/html-markup.ts';
import { membershipsOf } from '../../commands/kernel/membership.ts';
import { untilRightsKnown } from '../../commands/kernel/rights-known.ts';
import type { PersonEntry } from '../../commands/ports/directory.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { GatewayError, notFound, toErrorBody } from '../../commands/values/errors.ts';
import { Clients } from './clients.ts';
import { page, PAGE_HEADERS } from './provider-page.ts';

type Act = (request: Request, person: PersonEntry) => Promise<string>;

/** A router for the path. Requires no bearer: the token in the address is the credential. Bodies are not read. */
export function unsubscribeRouter(ports: Ports): Router {
  const clients = new Clients(ports);
  const router = express.Router({ caseSensitive: true, strict: true });

  const answered = (act: Act) => async (request: Request, response: Response) => {
    try {
      await untilRightsKnown(ports.directory);
      // Not counted as an attempt: its proof cannot be guessed, and mail providers send for many from one address.
      const person = personOfToken(ports, String(request.params['token']));
      if (person === null) throw notFound('link');
      send(response, 200, await act(request, person));
    } catch (error) {
      refuse(ports, clients.sourceOf(request), response, error);
    }
  };
  const show: Act = () => Promise.resolve(ASK);
  const stop: Act = async (request, { id: userId }) => {
    const author = await personAuthor(
      {
        requestId: String(request.res?.getHeader('Request-Id')),
        surface: 'rest',
        sealClient: (principalId) => clients.seal(principalId, request),
      },
      { userId, orgId: membershipsOf(ports.directory.state, userId)[0]?.orgId ?? null },
    );
    await unsubscribe(ports, author, userId);
    return DONE;
  };

  router.get('/:token', answered(show));
  router.post('/:token', answered(stop));
  router.all('/:token', (request, response) => {
    response.setHeader('Allow', 'GET, POST');
    const error = new GatewayError('method_not_allowed', 'This page takes GET and POST.');
    refuse(ports, clients.sourceOf(request), response, error);
  });
  return router;
}

/** The form is sent to the address of the page. */
const ASK = page(
  'ask',
  'Stop mails about approvals?',
  `<p>You will get no mail when an approval waits for you. Approvals expire without a decision. You can change this in your account.</p>
<form method="post">
<button type="submit">Stop these mails</button>
</form>
<p class="note">Nothing has changed yet.</p>`,
);

const DONE = page(
  'done',
  'No more mails about approvals',
  `<p>You get no mails about waiting approvals now. You can change this in your account.</p>
<p>You can close this page.</p>`,
);

function send(response: Response, status: number, html: string): void {
  response.setHeaders(PAGE_HEADERS);
  // The address is a credential.
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(html) });
  response.end(html);
}

function refuse(ports: Ports, source: string, response: Response, error: unknown): void {
  const requestId = String(response.getHeader('Request-Id'));
  if (!(error instanceof GatewayError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    ports.log.error('http: request failed', { request_id: requestId, error: text });
  } else {
    ports.accessLog.countRefusal(error.code, source);
    if (error.retryAfterSeconds !== undefined)
      response.setHeader('Retry-After', String(error.retryAfterSeconds));
  }
  const { status, message } = toErrorBody(error, requestId);
  send(
    response,
    status,
    page(
      'refused',
      status === 404 ? 'This link is not valid' : 'Nothing was changed',
      `<p>${escaped(status === 404 ? 'Sign in and choose in your account which mails you get.' : message)}</p>
<p class="note">Request ${escaped(requestId)}</p>`,
    ),
  );
}
