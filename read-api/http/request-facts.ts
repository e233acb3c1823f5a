/** Facts about a request, gathered in an adapter for the access log, the audit trail, limits and metrics. */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../commands/kernel/access.ts';

export interface RequestFacts {
  /** The client's address, without those of trusted proxies. */
  address: string;
  /** Null while no capability was reached. */
  capability: string | null;
  /** Null until the request is authenticated. */
  caller: Pick<Caller, 'token' | 'principal' | 'org'> | null;
  /** When the rights of the caller were read: monotonic milliseconds, and the version of the directory. */
  rights: { readonly readAt: number; readonly version: number } | null;
}

const facts = new WeakMap<IncomingMessage, RequestFacts>();

/** The facts of a request, which can be read and extended. */
export function factsOf(request: IncomingMessage): RequestFacts {
  const known = facts.get(request);
  if (known) return known;
  const fresh = { address: request.socket.remoteAddress ?? '', capability: null, caller: null, rights: null };
  facts.set(request, fresh);
  return fresh;
}

/**
 * `console` for a person's request sent by a page of this origin: browsers report that in `Sec-Fetch-Site`,
 * which no script may set (Fetch Metadata). Other clients' headers are accepted: no right depends on it.
 */
export const surfaceOf = ({ headers }: IncomingMessage, isOfPerson: boolean): 'rest' | 'console' =>
  isOfPerson && headers['sec-fetch-site'] === 'same-origin' ? 'console' : 'rest';
