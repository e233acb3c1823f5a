/** The gateway itself as the author of an event, for work without a request. */
import type { Author } from './decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';

export function systemAuthor(ports: Pick<Ports, 'ids'>, orgId: string | null): Author {
  const requestId = ports.ids.newId('req');
  return {
    orgId,
    actor: { type: 'system', id: 'gateway', token_id: null, session_id: null },
    surface: 'system',
    requestId,
    correlationId: requestId,
    causationId: requestId,
  };
}
