/**
 * The `WebhookSender` port: one signed POST to a vetted address, without redirects, ended by a deadline whatever the
 * endpoint does.
 */
import { buildConnector, Pool } from 'undici';
import type { Clock } from '../../commands/ports/ports.ts';
import type { WebhookRequest, WebhookResponse, WebhookSender } from '../../commands/ports/webhook-port.ts';
import type { EgressGuard } from '../egress/egress-guard.ts';
import { isUnresolved, type Outcome, outcomeOfFailure } from './post-failure.ts';
import { readAnswer } from './read-answer.ts';
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

export class PooledWebhookSender implements WebhookSender {
  readonly #options: WebhookSenderOptions;
  readonly #pools = new Map<string, { readonly origin: string; readonly pool: Pool }>();

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
    const deadline = new AbortController();
    const overdue = Promise.withResolvers<Outcome>();
    const timer = setTimeout(() => {
      deadline.abort();
      // A request that has no connection yet does not hear the signal.
      setImmediate(() => {
        overdue.resolve(outcomeOfFailure(deadline.signal.reason, deadline.signal));
      });
    }, deadlineMs);
    const sent = this.#send(request, startedAt, deadline.signal).catch((error: unknown) =>
      outcomeOfFailure(error, deadline.signal),
    );
    const answer = await Promise.race([sent, overdue.promise]);
    clearTimeout(timer);
    return { startedAt, durationMs: Math.round(performance.now() - from), ...answer };
  }

  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map(({ pool }) => pool.destroy()));
  }

  async #send(request: WebhookRequest, at: Date, signal: AbortSignal): Promise<Outcome> {
    const target = targetOf(request.url);
    const answer = await this.#poolOf(request.endpointId, target).request({
      method: 'POST',
      path: `${target.url.pathname}${target.url.search}`,
      headers: {
        'content-type': 'application/json',
        'user-agent': this.#options.userAgent,
        ...signedHeaders(request, at),
      },
      body: request.body,
      signal,
    });
    return await readAnswer(answer, at);
  }

  #poolOf(endpointId: string, { url, host, port }: Target): Pool {
    const known = this.#pools.get(endpointId);
    this.#pools.delete(endpointId);
    const isSame = known?.origin === url.origin;
    if (known && !isSame) void known.pool.close();
    const pool = known && isSame ? known.pool : this.#open(url.origin, host, port);
    this.#pools.set(endpointId, { origin: url.origin, pool });
    this.#closeUnused();
    return pool;
  }

  #open(origin: string, host: string, port: number): Pool {
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
    for (const [endpointId, { pool }] of this.#pools) {
      if (this.#pools.size <= MOST_POOLS) return;
      this.#pools.delete(endpointId);
      // Attempts under way may end.
      void pool.close();
    }
  }
}
