/** Disabling an endpoint by the gateway itself: it is gone, only failed, or its person left (`contract.md` 11). */
import { decideAndAppend, systemAuthor, type Writer } from '../kernel/decide-and-append.ts';
import type { Fact } from '../values/event.ts';
import type { Sealed } from '../values/sealed.ts';
import type { DisableReason, EndpointEvent } from './endpoint-events.ts';
import { type EndpointState, webhookEndpoint } from './endpoint.ts';

/** What the reason was found on: a person who changed it meanwhile, or resumed the endpoint, is not overruled. */
export interface Seen {
  readonly url: Sealed | null;
  readonly rightsOf: string | null;
}

export function decideDisable(
  state: EndpointState,
  reason: DisableReason,
  seen: Seen,
): Fact<EndpointEvent>[] {
  const isSame = reason === 'rights_gone' ? state.rightsOf === seen.rightsOf : state.url === seen.url;
  // A paused endpoint whose person left would only wait for ever.
  const isOpen = state.status === 'active' || (state.status === 'paused' && reason === 'rights_gone');
  return isSame && isOpen ? [{ type: 'WebhookEndpointDisabled', data: { reason } }] : [];
}

/** True when the endpoint is disabled or deleted then. */
export async function disableEndpoint(
  writer: Writer,
  { id, orgId }: { readonly id: string; readonly orgId: string | null },
  reason: DisableReason,
  seen: Seen,
): Promise<boolean> {
  const { state } = await decideAndAppend(writer, systemAuthor(writer, orgId), webhookEndpoint, {
    id,
    decide: (current) => decideDisable(current, reason, seen),
  });
  return state.status === 'disabled' || state.status === 'removed';
}
