/** What is found out about a request on its way through a face: for the access log, the audit trail, limits and metrics. */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../commands/kernel/access.ts';

export interface RequestFacts {
  /** The client's address, without those of trusted proxies. */
  address: string;
  /** Null while no capability was reached. */
  capability: string | null;
  /** Null until the request is authenticated. */
  caller: Pick<Caller, 'token' | 'principal' | 'org'> | null;
}

const facts = new WeakMap<IncomingMessage, RequestFacts>();

/** The facts of a request, to be read and added to. */
export function factsOf(request: IncomingMessage): RequestFacts {
  const known = facts.get(request);
  if (known) return known;
  const fresh = { address: request.socket.remoteAddress ?? '', capability: null, caller: null };
  facts.set(request, fresh);
  return fresh;
}
