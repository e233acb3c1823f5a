/** Records refused requests of known callers in the audit trail (`contract.md` 12). */
import { type Refusal, refusalEntry } from './access-events.ts';
import type { ActorKind, Caller } from './access.ts';
import type { Request } from './capability.ts';
import type { Author } from './decide-and-append.ts';
import { credentialIds } from '../values/event.ts';
import type { Ports } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';

export interface KnownCredential {
  readonly id: string;
  readonly orgId: string;
  readonly principalId: string;
  readonly actor: ActorKind;
}

export interface KnownRequest {
  readonly credential: KnownCredential;
  readonly client: Sealed | null;
  readonly surface: Request['surface'];
  readonly requestId: string;
}

export const credentialOf = ({ token, org, principal, actor }: Caller): KnownCredential => ({
  id: token.id,
  orgId: org.id,
  principalId: principal.id,
  actor,
});

/** The author of what a request with this credential writes. */
export const requestAuthor = ({ credential, client, surface, requestId }: KnownRequest): Author => ({
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

/**
 * Resolves when the refusal is stored. When it cannot be stored, or its author cannot be sealed, it is only counted: the caller
 * must be answered. Never rejects.
 */
export async function recordRefusal(
  { accessLog, clock, log }: Pick<Ports, 'accessLog' | 'clock' | 'log'>,
  author: Author | Promise<Author>,
  refusal: Refusal,
): Promise<void> {
  const { code, capability } = refusal;
  try {
    await accessLog.record(refusalEntry(await author, clock.now(), refusal));
  } catch (error) {
    accessLog.countRefusal(code, 'store-away');
    log.warn('access log: refusal not recorded', { code, capability, error: String(error) });
  }
}
