/** Refusals that never reach a capability, told to the audit trail (`contract.md` 12). */
import { refusalEntry } from '../../commands/kernel/access-events.ts';
import type { Author } from '../../commands/kernel/decide-and-append.ts';
import type { TokenEntry } from '../../commands/kernel/directory.ts';
import type { GatewayError } from '../../commands/kernel/errors.ts';
import type { Ports, Sealed } from '../../commands/kernel/ports.ts';

export interface RefusedRequest {
  /** The token the request came with: known here, whatever is wrong with it. */
  readonly token: TokenEntry;
  readonly client: Sealed | null;
  readonly surface: 'rest' | 'mcp';
  readonly requestId: string;
}

type RefusalPorts = Pick<Ports, 'accessLog' | 'clock' | 'log'>;

/** Resolves when the refusal is in the stream; with the store away it is counted, for the caller must be answered. */
export async function recordRefusal(
  { accessLog, clock, log }: RefusalPorts,
  request: RefusedRequest,
  error: GatewayError,
): Promise<void> {
  const refusal = { capability: null, code: error.code, mailboxId: null };
  try {
    await accessLog.record(refusalEntry(authorOf(request), clock.now(), refusal));
  } catch (failure) {
    accessLog.countRefusal(error.code, 'store-away');
    log.warn('a refusal could not be recorded', { code: error.code, error: String(failure) });
  }
}

const authorOf = ({ token, client, surface, requestId }: RefusedRequest): Author => ({
  orgId: token.orgId,
  actor: {
    type: token.principalKind === 'agent' ? 'agent' : 'delegated',
    id: token.principalId,
    token_id: token.id,
    session_id: null,
    ...(client === null ? {} : { client }),
  },
  surface,
  requestId,
  correlationId: requestId,
  causationId: requestId,
});
