/** Reads the answer of an endpoint, only its beginning, and says what it means. */
import type { Dispatcher } from 'undici';
import type { WebhookResponse } from '../../commands/ports/webhook-port.ts';
import { failed, type Outcome, outcomeOfFailure } from './post-failure.ts';

/** An answer longer than this is cut, with its connection. */
const MOST_BYTES = 64 * 1024;
const EXCERPT_BYTES = 1_024;

/** What undici calls while it makes one request: without the stream that its `request` makes of each answer. */
export class AnswerReader implements Dispatcher.DispatchHandler {
  /** Settled once, whatever happens later. */
  readonly outcome: Promise<Outcome>;
  readonly #settle: (outcome: Outcome) => void;
  readonly #startedAt: Date;
  #controller: Dispatcher.DispatchController | null = null;
  #status: number | null = null;
  #retryAfter: string | null = null;
  readonly #kept: Buffer[] = [];
  #size = 0;
  #isOverdue = false;

  constructor(startedAt: Date) {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.outcome = promise;
    this.#settle = resolve;
    this.#startedAt = startedAt;
  }

  /** At the deadline. A request that has no connection yet is not made later. */
  end(): void {
    this.#isOverdue = true;
    this.#settle(failed('timeout', this.#status));
    this.#controller?.abort(new Error('the deadline has passed'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOverdue) controller.abort(new Error('the deadline has passed'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    // The answer itself follows.
    if (status < 200) return;
    this.#status = status;
    const retryAfter = headers['retry-after'];
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter : null;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#size < EXCERPT_BYTES) this.#kept.push(chunk.subarray(0, EXCERPT_BYTES - this.#size));
    this.#size += chunk.length;
    if (this.#size <= MOST_BYTES) return;
    this.onResponseEnd();
    // Ends the connection.
    controller.abort(new Error('the answer is too long'));
  }

  onResponseEnd(): void {
    if (this.#status === null) return;
    this.#settle({
      ...verdictOn(this.#status),
      httpStatus: this.#status,
      excerpt: excerptOf(this.#kept),
      retryAfterSeconds: this.#retryAfter === null ? null : secondsUntil(this.#retryAfter, this.#startedAt),
    });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    this.#settle(outcomeOfFailure(error, this.#status));
  }
}

function verdictOn(status: number): Pick<WebhookResponse, 'status' | 'error'> {
  if (status < 300) return { status: 'succeeded', error: null };
  // A redirect could lead anywhere, and what is signed for one place is not for another.
  if (status < 400) return { status: 'blocked', error: 'redirect' };
  return { status: 'failed', error: 'http_status' };
}

/** A character cut at the end is left out. */
const excerptOf = (chunks: readonly Buffer[]): string =>
  chunks.length === 0 ? '' : new TextDecoder().decode(Buffer.concat(chunks), { stream: true });

/** Retry-After in seconds or as a date (RFC 9110 10.2.3); null when it is neither. */
function secondsUntil(text: string, now: Date): number | null {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / 1_000));
}
