/** What the answer of an endpoint means; only its beginning is read. */
import type { Dispatcher } from 'undici';
import type { WebhookResponse } from '../../commands/ports/webhook-port.ts';
import { AnswerBroken, type Outcome } from './post-failure.ts';

/** An answer longer than this is cut, with its connection. */
const MOST_BYTES = 64 * 1024;
const EXCERPT_BYTES = 1_024;

type Answer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

export async function readAnswer({ statusCode, headers, body }: Answer, at: Date): Promise<Outcome> {
  const beginning = await readBeginning(body).catch((error: unknown) => {
    throw new AnswerBroken(statusCode, error);
  });
  const retryAfter = headers['retry-after'];
  return {
    ...verdictOn(statusCode),
    httpStatus: statusCode,
    excerpt: excerptOf(beginning),
    retryAfterSeconds: typeof retryAfter === 'string' ? secondsUntil(retryAfter, at) : null,
  };
}

function verdictOn(status: number): Pick<WebhookResponse, 'status' | 'error'> {
  if (status >= 200 && status < 300) return { status: 'succeeded', error: null };
  // A redirect could lead anywhere, and what is signed for one place is not for another.
  if (status >= 300 && status < 400) return { status: 'blocked', error: 'redirect' };
  return { status: 'failed', error: 'http_status' };
}

/** Reads to the end, or to `MOST_BYTES`; keeps the bytes of an excerpt. */
async function readBeginning(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const kept: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (size < EXCERPT_BYTES) kept.push(chunk.subarray(0, EXCERPT_BYTES - size));
    size += chunk.length;
    // Leaving the loop destroys the connection.
    if (size > MOST_BYTES) break;
  }
  return Buffer.concat(kept);
}

/** A character cut at the end is left out. */
const excerptOf = (bytes: Buffer): string => new TextDecoder().decode(bytes, { stream: true });

/** Retry-After in seconds or as a date (RFC 9110 10.2.3); null when it is neither. */
function secondsUntil(text: string, now: Date): number | null {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / 1_000));
}
