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
  readonly rows: Pick<StateRows, 'find' | 'put'>;
  readonly clock: Clock;
  readonly fetch: GuardedFetch;
}

/** As the draft advises. */
export const MOST_DOCUMENT_BYTES = 5 * 1024;
/** How long the last good document may stand in; each fetch begins it anew. */
const KEPT_MS = 90 * 24 * 60 * 60_000;

/**
 * A `fetch` for documents. It answers with what was picked; where the host does not answer, or fails, with the last good
 * document. Throws when there is neither, and for a document that is refused.
 */
export function documentFetch(options: ClientDocumentsOptions): GuardedFetch {
  return async (url, request) => {
    const id = String(url);
    const answer = await options.fetch(url, request).catch((error: unknown) => {
      // Blocked is no outage: an operator closed the way, or the name points elsewhere now.
      if (error instanceof GatewayError && error.code === 'target_blocked') throw error;
      return error;
    });
    if (answer instanceof Response && answer.status < 500) return await picked(options, id, answer);
    const kept = await options.rows.find('ClientDocument', id);
    if (kept !== null) return json(kept.payload);
    if (answer instanceof Response) return answer;
    throw answer;
  };
}

async function picked(
  { rows, clock }: ClientDocumentsOptions,
  id: string,
  answer: Response,
): Promise<Response> {
  if (answer.status !== 200) return answer;
  const document = documentIn(id, await answer.arrayBuffer());
  const expiresAt = new Date(clock.now().getTime() + KEPT_MS);
  await rows.put({ model: 'ClientDocument', id, payload: document, expiresAt });
  return json(document, answer.headers.get('cache-control'));
}

/** Throws for one that cannot be used. */
function documentIn(id: string, bytes: ArrayBuffer): StatePayload {
  if (bytes.byteLength > MOST_DOCUMENT_BYTES) throw new Error('the metadata document is larger than 5 KiB');
  const content: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new Error('the metadata document is not a JSON object');
  const document = pickDocument(id, content as StatePayload);
  if (document === null)
    throw new Error('the metadata document names another client, or a client with a secret or key');
  return { ...document };
}

const json = (document: StatePayload, cacheControl: string | null = null): Response =>
  Response.json(document, { headers: cacheControl === null ? {} : { 'cache-control': cacheControl } });
