/**
 * The `WebhookSender` port: one signed POST to a vetted address, without redirects, ended by a deadline whatever the
 * endpoint does.
 */
import { buildConnector, Pool } from 'undici';
import type { Clock } from '../../commands/ports/ports.ts';
import type { WebhookRequest, WebhookResponse, WebhookSender } from '../../commands/ports/webhook-port.ts';
import type { EgressGuard } from '../egress/egress-guard.ts';
import { isUnresolved } from './post-failure.ts';
import { AnswerReader } from './read-answer.ts';
import { signedHeaders } from './sign-webhook.ts';
import { targetOf, type Target } from './target-of.ts';

export interface WebhookSenderOptions {
  readonly guard: EgressGuard;
  readonly clock: Pick<Clock, 'now'>;
  /** For look-up, connection, request and the whole answer. */
  readonly deadlineMs: number;
  readonly userAgent: string;
  /** Certificates to trust besides those of Node. */
  readonly extraCertificates?: readonly string[];
}

/** Pools beyond this are closed, the one unused for longest first. A pool closes connections unused for 4 s itself. */
const MOST_POOLS = 500;
/** As many as one endpoint is sent at once: an attempt that waited for a connection would lose that time of its deadline. */
export const CONNECTIONS = 20;

/** Where the requests of an endpoint go. */
interface Route {
  readonly url: string;
  readonly origin: string;
  readonly path: string;
  readonly pool: Pool;
}

export class PooledWebhookSender implements WebhookSender {
  readonly #options: WebhookSenderOptions;
  /** By endpoint. */
  readonly #routes = new Map<string, Route>();

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
  }

  async vet(url: string): Promise<void> {
    const { host, port } = targetOf(url);
    try {
      await this.#options.guard.vet(host, port);
    } catch (error) {
      // A name that does not resolve now may do so later.
      if (!isUnresolved(error)) throw error;
    }
  }

  async post(request: WebhookRequest): Promise<WebhookResponse> {
    if (request.secrets.length === 0) throw new RangeError('A webhook is never sent without a signature.');
    const { clock, deadlineMs } = this.#options;
    const startedAt = clock.now();
    const from = performance.now();
    const answer = new AnswerReader(startedAt);
    const timer = setTimeout(() => {
      answer.end();
    }, deadlineMs);
    try {
      this.#send(request, startedAt, answer);
    } catch (error) {
      answer.fail(error);
    }
    const outcome = await answer.outcome;
    clearTimeout(timer);
    return { startedAt, durationMs: Math.round(performance.now() - from), ...outcome };
  }

  async close(): Promise<void> {
    const routes = [...this.#routes.values()];
    this.#routes.clear();
    await Promise.all(routes.map(({ pool }) => pool.destroy()));
  }

  #send(request: WebhookRequest, at: Date, answer: AnswerReader): void {
    const { pool, path } = this.#routeTo(request);
    pool.dispatch(
      {
        method: 'POST',
        path,
        headers: {
          'content-type': 'application/json',
          'user-agent': this.#options.userAgent,
          ...signedHeaders(request, at),
        },
        body: request.body,
      },
      answer,
    );
  }

  #routeTo({ endpointId, url }: WebhookRequest): Route {
    const known = this.#routes.get(endpointId);
    const route = known?.url === url ? known : this.#newRoute(url, known);
    this.#routes.delete(endpointId);
    this.#routes.set(endpointId, route);
    this.#closeUnused();
    return route;
  }

  #newRoute(url: string, before: Route | undefined): Route {
    const target = targetOf(url);
    const { origin, pathname, search } = target.url;
    const isSame = before?.origin === origin;
    if (before && !isSame) void before.pool.close();
    const pool = before && isSame ? before.pool : this.#open(origin, target);
    return { url, origin, path: `${pathname}${search}`, pool };
  }

  #open(origin: string, { host, port }: Target): Pool {
    const { guard, deadlineMs, extraCertificates = [] } = this.#options;
    const connect = buildConnector({
      timeout: deadlineMs,
      ...(extraCertificates.length > 0 && { ca: [...extraCertificates] }),
    });
    return new Pool(origin, {
      connections: CONNECTIONS,
      // The deadline of the attempt holds for both.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Each connection goes to an address that was vetted for it: the name is not resolved a second time.
      connect: (options, callback) => {
        guard.vet(host, port).then(
          ({ address, servername }) => {
            connect(
              { ...options, hostname: address, ...(servername !== undefined && { servername }) },
              callback,
            );
          },
          (error: unknown) => {
            callback(error instanceof Error ? error : new Error(String(error)), null);
          },
        );
      },
    });
  }

  #closeUnused(): void {
    for (const [endpointId, { pool }] of this.#routes) {
      if (this.#routes.size <= MOST_POOLS) return;
      this.#routes.delete(endpointId);
      // Attempts under way may end.
      void pool.close();
    }
  }
}
