/** The request of an attempt, as the rights and the endpoint allow it right before it is sent. */
import { isRestorable } from '../../commands/kernel/membership.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { WebhookRequest } from '../../commands/ports/webhook-port.ts';
import type { EndpointState } from '../../commands/webhooks/endpoint.ts';
import { mayBeTold } from '../../commands/webhooks/may-be-told.ts';
import { requestTarget } from '../../commands/webhooks/request-target.ts';
import type { Claim } from './claims.ts';
import { payloadBody, withheldBody } from './payload-bytes.ts';

interface Prepared {
  readonly request: WebhookRequest;
  readonly withheld: boolean;
}

/** The claims of one pass share the state of their endpoint, and with it the opened URL and the secrets. */
const targets = new WeakMap<EndpointState, ReturnType<typeof requestTarget>>();

function targetOf(ports: Ports, id: string, state: EndpointState): ReturnType<typeof requestTarget> {
  const target = targets.get(state) ?? requestTarget(ports, id, state);
  targets.set(state, target);
  return target;
}

/** Null when something is missing that may come back: then nothing is sent yet. */
export async function prepareRequest(ports: Ports, claim: Claim): Promise<Prepared | 'rights_gone' | null> {
  try {
    return await prepare(ports, claim);
  } catch (error) {
    ports.log.warn('webhooks: attempt put off', { endpoint_id: claim.endpoint.id, error: String(error) });
    return null;
  }
}

async function prepare(
  ports: Ports,
  { delivery, endpoint: { id, state } }: Claim,
): Promise<Prepared | 'rights_gone' | null> {
  const person = { orgId: delivery.orgId ?? '', personId: state.rightsOf };
  // While it is deleted nobody has rights in it, and a restore gives them back.
  if (isRestorable(ports.directory.state.organisations.get(person.orgId))) return null;
  const verdict = mayBeTold(ports.directory.state, person, delivery, ports.clock.now());
  if (verdict === 'rights_gone') return verdict;
  const target = await targetOf(ports, id, state);
  if (target === null) return 'rights_gone';
  const withheld = verdict === 'withheld';
  const body = withheld ? withheldBody(delivery) : await payloadBody(ports, delivery, state.payload);
  return { request: { endpointId: id, ...target, id: delivery.eventId, body }, withheld };
}
