/** A person signed in to a gateway in memory, with a recent step-up: calls capabilities as that person. */
import type { Caller } from '../../../commands/kernel/access.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import { invokeCapability, type Outcome } from '../../../commands/kernel/invoke-capability.ts';
import { ROLE_SCOPES, type Scope } from '../../../commands/values/scopes.ts';
import type { CallOptions, MemoryGateway } from './memory-gateway.ts';

/** The owner in a session with a recent step-up. */
export function signedInOwner(gateway: MemoryGateway): Caller {
  const owner = gateway.callerOf(gateway.ownerTokenId);
  const orgScopes = new Set<Scope>(ROLE_SCOPES.owner);
  const steppedUpUntil = new Date(gateway.clock.now().getTime() + 60_000).toISOString();
  return {
    ...owner,
    actor: 'person',
    onBehalfOf: null,
    session: { id: 'ses_sample', steppedUpUntil },
    token: { ...owner.token, scopes: [...owner.token.scopes, ...orgScopes] },
    orgScopes,
    scopes: new Set([...owner.scopes, ...orgScopes]),
  };
}

/** One call of a capability by that owner. */
export async function invokeAsOwner(
  gateway: MemoryGateway,
  capability: Capability,
  input: unknown,
  options: CallOptions = {},
): Promise<Outcome> {
  gateway.clock.advance(1);
  const { ports } = gateway;
  return await invokeCapability({
    capability,
    input,
    caller: signedInOwner(gateway),
    client: null,
    registry: [],
    ports,
    request: {
      id: ports.ids.newId('req'),
      surface: 'rest',
      idempotencyKey: options.key ?? null,
      ifMatch: options.ifMatch ?? null,
      ifPosition: null,
      mcpSessionId: null,
    },
  });
}
