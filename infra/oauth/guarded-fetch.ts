/**
 * `fetch` for OAuth: guarded, only to the vetted address, no redirects, bounded in size and time. Allowed are the issuers
 * in the operator's settings, wherever they are, and public HTTPS servers that their metadata names (`contract.md` 18);
 * tenants cannot name a host.
 */
import http from 'node:http';
import https from 'node:https';
import { GatewayError } from '../../commands/values/errors.ts';
import { type EgressGuard, type Resolve, vetAddresses, type VettedTarget } from '../egress/egress-guard.ts';
import { isPublic } from '../egress/egress-rules.ts';

const HTTPS_PORT = 443;

/** The effective port of a URL. */
export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'http:' ? 80 : HTTPS_PORT) : Number(port);

/** A guard that allows the configured issuers by origin, and public addresses on the HTTPS port. */
export function createOAuthGuard(named: readonly URL[], resolve?: Resolve): EgressGuard {
  const origins = new Set(named.map((url) => `${url.hostname}:${String(portOf(url))}`));
  return {
    vet: (host, port) => {
      const isNamed = origins.has(`${host}:${String(port)}`);
      return vetAddresses(host, {
        ...(resolve && { resolve }),
        allows: (ip) => isNamed || (port === HTTPS_PORT && isPublic(ip)),
        blocked: blocked(host, port),
      });
    },
  };
}

const blocked = (host: string, port: number): GatewayError =>
  new GatewayError(
    'target_blocked',
    `The provider's metadata names ${host}:${String(port)}, which is neither public nor the issuer's own host.`,
    { details: { reason: 'egress', host, port } },
  );

/** Metadata and keys of the large providers take a few KiB. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** For connecting, sending and the whole answer. */
export const ANSWER_TIMEOUT_MS = 8_000;

interface GuardedRequest {
  readonly method?: string | undefined;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: unknown;
  /** Ends the request earlier than the time-out. */
  readonly signal?: AbortSignal | null | undefined;
}

export type GuardedFetch = (url: string | URL, request?: GuardedRequest) => Promise<Response>;

/** A `fetch` that connects only where the guard allows. Throws `target_blocked`, `mailbox_unavailable`, or the socket's error. */
export const guardedFetch =
  (guard: EgressGuard): GuardedFetch =>
  async (url, { method = 'GET', headers, body, signal } = {}) => {
    const target = new URL(url);
    const vetted = await guard.vet(target.hostname, portOf(target));
    if (target.protocol === 'http:' && !vetted.isLoopback) throw plain(target.hostname);
    const ends = [AbortSignal.timeout(ANSWER_TIMEOUT_MS), ...(signal ? [signal] : [])];
    return await ask(target, vetted, {
      method,
      headers: { ...Object.fromEntries(new Headers(headers)), host: target.host },
      body: textOf(body),
      signal: AbortSignal.any(ends),
    });
  };

const plain = (host: string): GatewayError =>
  new GatewayError('target_blocked', 'OAuth without TLS is allowed only to this machine.', {
    details: { reason: 'plain_connection', host },
  });

/** Only forms are sent. */
const textOf = (body: unknown): string => (body instanceof URLSearchParams ? body.toString() : '');

interface AskOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

function ask(
  target: URL,
  { address, servername }: VettedTarget,
  { body, ...options }: AskOptions,
): Promise<Response> {
  const answer = Promise.withResolvers<Response>();
  const { request } = target.protocol === 'http:' ? http : https;
  const sent = request({
    ...options,
    host: address,
    ...(servername === undefined ? {} : { servername }),
    port: portOf(target),
    path: `${target.pathname}${target.search}`,
    agent: false,
  });
  sent.once('error', answer.reject);
  sent.once('response', (response) => {
    collect(response).then(answer.resolve, (error: unknown) => {
      sent.destroy();
      answer.reject(error);
    });
  });
  sent.end(body);
  return answer.promise;
}

async function collect(response: http.IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('The answer of the provider is too large.');
    chunks.push(chunk);
  }
  const status = response.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(response.headersDistinct))
    for (const value of values) headers.append(name, value);
  return new Response(size === 0 ? null : Buffer.concat(chunks), { status, headers });
}
