/** A request for a session that is not the caller's is a refusal of somebody known: it goes to the audit trail. */
import { refusalEntry } from '../commands/kernel/access-events.ts';
import { credentialIds } from '../commands/values/event.ts';
import type { Ports } from '../commands/ports/ports.ts';
import { GatewayError } from '../commands/values/errors.ts';
import type { AuthenticatedRequest } from '../read-api/http/request-gate.ts';

/** The 404 that makes a client initialize again, recorded (`contract.md` 12). */
export async function unknownSession(
  ports: Ports,
  { caller, client }: AuthenticatedRequest,
  requestId: string,
): Promise<GatewayError> {
  const refusal = new GatewayError('session_not_found', 'Unknown or expired MCP session; send initialize.');
  const author = {
    orgId: caller.org.id,
    actor: {
      type: caller.actor,
      id: caller.principal.id,
      ...credentialIds(caller.token.id),
      ...(client === null ? {} : { client }),
    },
    surface: 'mcp' as const,
    requestId,
    correlationId: requestId,
    causationId: requestId,
  };
  const entry = refusalEntry(author, ports.clock.now(), {
    capability: null,
    code: refusal.code,
    mailboxId: null,
  });
  try {
    await ports.accessLog.record(entry);
  } catch (error) {
    // The store is away: the client still learns that it has to start anew.
    ports.accessLog.countRefusal(refusal.code, 'store-away');
    ports.log.warn('access log: refused MCP session not recorded', { error: String(error) });
  }
  return refusal;
}
