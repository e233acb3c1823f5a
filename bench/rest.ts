/** Requests to the REST API of the measured gateway. */
import type { DemoFacts } from './processes.ts';

interface Sent {
  /** The idempotency key. */
  readonly key?: string;
  /** Absent = the demo's token. */
  readonly token?: string;
}

/** A GET of a path below `/api/v1`. Throws for every refusal. */
export const get = (facts: DemoFacts, path: string): Promise<unknown> => request(facts, path, {});

/** A POST to a path below `/api/v1`. Throws for every refusal. */
export const post = (facts: DemoFacts, path: string, body: object, sent: Sent = {}): Promise<unknown> =>
  request(facts, path, { method: 'POST', body: JSON.stringify(body) }, sent);

async function request(
  facts: DemoFacts,
  path: string,
  init: { readonly method?: string; readonly body?: string },
  { key, token = facts.rest_token }: Sent = {},
): Promise<unknown> {
  const response = await fetch(`${facts.base_url}/api/v1/${path}`, {
    ...init,
    headers: {
      authorization: `Bearer ${token}`,
      ...(init.body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
  });
  if (!response.ok) throw new Error(`${path}: HTTP ${String(response.status)} ${await response.text()}`);
  return await response.json();
}
