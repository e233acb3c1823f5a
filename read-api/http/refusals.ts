/** Refusals that never reach a capability, told to the audit trail (`contract.md` 12). */
import { refusalEntry } from '../../commands/kernel/access-events.ts';
import type { Request } from '../../commands/kernel/capability.ts';
import type { Author } from '../../commands/kernel/decide-and-append.ts';
import type { ActorKind } from '../../commands/kernel/access.ts';
import { credentialIds } from '../../commands/values/event.ts';
import type { GatewayError } from '../../commands/values/errors.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Sealed } from '../../commands/values/sealed.ts';

/** What a request came with: known here, whatever is wrong with it. */
export interface KnownCredential {
  readonly id: string;
  readonly orgId: string;
  readonly principalId: string;
  readonly actor: ActorKind;
}

export interface RefusedRequest {
  readonly credential: KnownCredential;
  readonly client: Sealed | null;
  readonly surface: Request['surface'];
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
    log.warn('access log: refusal not recorded', { code: error.code, error: String(failure) });
  }
}

const authorOf = ({ credential, client, surface, requestId }: RefusedRequest): Author => ({
  orgId: credential.orgId,
  actor: {
    type: credential.actor,
    id: credential.principalId,
    ...credentialIds(credential.id),
    ...(client === null ? {} : { client }),
  },
  surface,
  requestId,
  correlationId: requestId,
  causationId: requestId,
});
