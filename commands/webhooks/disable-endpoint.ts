/** Disabling an endpoint by the gateway itself: it is gone, only failed, or its person left (`contract.md` 11). */
import { decideAndAppend, systemAuthor, type Writer } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
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

const CURRENT_WITHIN_MS = 2_000;

/**
 * True when every attempt since `before` failed, as far as the log says now: an attempt may have succeeded since the one that
 * asks was claimed. False while the read model is behind; a later failure asks again.
 */
export async function hasOnlyFailed(
  { events, readModels, webhookRecords }: Pick<Ports, 'events' | 'readModels' | 'webhookRecords'>,
  id: string,
  before: Date,
): Promise<boolean> {
  if (!(await readModels.waitFor(await events.headPosition(), CURRENT_WITHIN_MS))) return false;
  const firstFailureAt = (await webhookRecords.health(id))?.firstFailureAt ?? null;
  return firstFailureAt !== null && new Date(firstFailureAt) < before;
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
