/** What happens to every answer of the library before it is sent: no open redirect, one cookie, limits of failures. */
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Ports } from '../../commands/ports/ports.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Clients } from '../../read-api/http/clients.ts';
import { PAGE_HEADERS } from '../../read-api/http/provider-page.ts';
import { isOfLiveOrg } from './authorization-requests.ts';
import { failurePage, leavingPage } from './oauth-pages.ts';

export interface AnswerOptions {
  readonly ports: Pick<Ports, 'attempts' | 'directory' | 'log' | 'server'>;
  readonly clients: Clients;
  /** Where the console shows a request. */
  readonly consentPages: string;
}

type Context = Pick<KoaContextWithOIDC, 'path' | 'req' | 'res' | 'request' | 'response'> & {
  readonly oidc?: Partial<KoaContextWithOIDC['oidc']>;
  status: number;
  body: unknown;
};

/** The cookie by which a browser goes on with its own request. */
export const RESUME_COOKIE = '_interaction_resume';

const RETRY_SECONDS = 1;

export async function mindAnswer(options: AnswerOptions, ctx: Context): Promise<void> {
  holdRedirect(options, ctx);
  keepResumeCookie(ctx);
  if (ctx.status === 503) ctx.response.set('Retry-After', String(RETRY_SECONDS));
  if (ctx.status === 400 || ctx.status === 401) await countFailure(options, ctx);
}

/** Sends a page, with the headers of all pages. */
export function sendPage(ctx: Pick<Context, 'response' | 'body' | 'status'>, html: string): void {
  for (const [name, value] of PAGE_HEADERS) ctx.response.set(name, value);
  ctx.body = html;
}

/**
 * A request that no person decided leads to the console, or back to an application that an organisation vouches for. Anybody
 * can make up any other application: its redirect is shown, not followed (RFC 9700 4.11).
 */
function holdRedirect({ ports, consentPages }: AnswerOptions, ctx: Context): void {
  const to = ctx.res.getHeader('Location');
  if (ctx.path !== '/authorize' || typeof to !== 'string' || to.startsWith(consentPages)) return;
  if (isVouchedFor(ports, ctx.oidc?.client?.clientId)) return;
  const { searchParams } = new URL(to);
  ctx.response.remove('Location');
  ctx.status = 400;
  const description = searchParams.get('error_description') ?? 'The application asked for something else.';
  const code = searchParams.get('error') ?? 'invalid_request';
  sendPage(ctx, leavingPage(to, { code, description, requestId: requestIdOf(ctx) }));
}

/** Where anybody may set up an organisation, its word is worth nothing to others. */
export const isVouchedFor = (
  { directory: { state }, server }: Pick<Ports, 'directory' | 'server'>,
  id: string | undefined,
): boolean =>
  server.signUp !== 'open' &&
  id !== undefined &&
  [...state.oauthClients.values()].some((entry) => entry.clientId === id && isOfLiveOrg(state, entry));

const requestIdOf = ({ res }: Pick<Context, 'res'>): string => String(res.getHeader('Request-Id'));

/** Nobody is signed in here, so the library's other cookies mean nothing. */
function keepResumeCookie({ response }: Context): void {
  const cookies = [response.headers['set-cookie'] ?? []].flat();
  const kept = cookies.filter((cookie) => cookie.startsWith(`${RESUME_COOKIE}=`));
  if (kept.length > 0) response.set('Set-Cookie', kept);
  else response.remove('Set-Cookie');
}

/** Failures of one source are answered up to the limit; what succeeds is not counted, whoever shares the address. */
async function countFailure({ ports, clients }: AnswerOptions, ctx: Context): Promise<void> {
  const on = { account: `oauth failure from ${clients.networkOf(ctx.req)}`, source: null };
  try {
    await ports.attempts.attempt(on, () => Promise.resolve({}));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code !== 'rate_limited') {
      ports.log.warn('oauth: failure not counted', { error: error.message });
      return;
    }
    ctx.status = 429;
    ctx.response.set('Retry-After', String(error.retryAfterSeconds ?? RETRY_SECONDS));
    const description = 'Too many requests from this address failed; wait before the next one.';
    if (ctx.path.startsWith('/authorize'))
      sendPage(
        ctx,
        failurePage({ code: 'temporarily_unavailable', description, requestId: requestIdOf(ctx) }),
      );
    else ctx.body = { error: 'temporarily_unavailable', error_description: description };
  }
}
