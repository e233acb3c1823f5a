/**
 * Client ID metadata documents: fetched through the egress guard, picked, and kept, so that an outage of their host does not
 * end the connections of its application.
 */
import type { Clock } from '../../commands/ports/ports.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { GuardedFetch } from '../oauth/guarded-fetch.ts';
import { pickDocument } from './client-metadata.ts';
import type { StatePayload, StateRows } from './state-rows.ts';

export interface ClientDocumentsOptions {
  readonly rows: Pick<StateRows, 'find' | 'put' | 'take'>;
  readonly clock: Clock;
  readonly fetch: GuardedFetch;
}

/** As the draft advises. */
export const MOST_DOCUMENT_BYTES = 5 * 1024;
/** How long the last good document may stand in; each fetch begins it anew. */
const KEPT_MS = 90 * 24 * 60 * 60_000;

/**
 * A `fetch` for documents. It answers with what was picked; where the host does not answer, or fails, with the last good
 * document. Throws when there is neither, and for a document that is refused. One that its host withdrew or made unusable is not
 * kept: no outage brings it back.
 */
export function documentFetch(options: ClientDocumentsOptions): GuardedFetch {
  return async (url, request) => {
    const id = String(url);
    const answer = await options.fetch(url, request).catch((error: unknown) => {
      // Blocked is no outage: an operator closed the way, or the name points elsewhere now.
      if (error instanceof GatewayError && error.code === 'target_blocked') throw error;
      return error;
    });
    if (answer instanceof Response && !isOutage(answer)) return await picked(options, id, answer);
    const kept = await options.rows.find('ClientDocument', id);
    if (kept !== null) return json(kept.payload);
    if (answer instanceof Response) return answer;
    throw answer;
  };
}

const TOO_MANY_REQUESTS = 429;
const isOutage = ({ status }: Response): boolean => status >= 500 || status === TOO_MANY_REQUESTS;

async function picked(
  { rows, clock }: ClientDocumentsOptions,
  id: string,
  answer: Response,
): Promise<Response> {
  const document = answer.status === 200 ? documentIn(id, await answer.arrayBuffer()) : null;
  if (document === null || document instanceof Error) await rows.take('ClientDocument', id);
  if (document === null) return answer;
  if (document instanceof Error) throw document;
  const expiresAt = new Date(clock.now().getTime() + KEPT_MS);
  await rows.put({ model: 'ClientDocument', id, payload: document, expiresAt });
  return json(document, answer.headers.get('cache-control'));
}

/** An error for one that cannot be used. */
function documentIn(id: string, bytes: ArrayBuffer): StatePayload | Error {
  if (bytes.byteLength > MOST_DOCUMENT_BYTES) return new Error('the metadata document is larger than 5 KiB');
  const content = objectIn(bytes);
  if (content === null) return new Error('the metadata document is not a JSON object');
  const document = pickDocument(id, content);
  return document === null
    ? new Error('the metadata document names another client, or a client with a secret or key')
    : { ...document };
}

function objectIn(bytes: ArrayBuffer): StatePayload | null {
  try {
    const content: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const isObject = typeof content === 'object' && content !== null && !Array.isArray(content);
    return isObject ? (content as StatePayload) : null;
  } catch {
    return null;
  }
}

const json = (document: StatePayload, cacheControl: string | null = null): Response =>
  Response.json(document, { headers: cacheControl === null ? {} : { 'cache-control': cacheControl } });
