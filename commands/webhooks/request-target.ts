/** Where the payloads of an endpoint are sent now, and what signs them: for attempts and tests alike. */
import type { Ports } from '../ports/ports.ts';
import type { WebhookRequest } from '../ports/webhook-port.ts';
import { GatewayError } from '../values/errors.ts';
import { type EndpointState, liveSecrets } from './endpoint.ts';

/**
 * Null once the data of the person who set the URL was erased: then no process knows the address. Throws `conflict` when a
 * secret that should sign is missing, because nothing is sent with fewer signatures; `store_unavailable`.
 */
export async function requestTarget(
  { personal, webhookSecrets, clock }: Pick<Ports, 'personal' | 'webhookSecrets' | 'clock'>,
  endpointId: string,
  { url: sealed, secrets: known }: Pick<EndpointState, 'url' | 'secrets'>,
): Promise<Pick<WebhookRequest, 'url' | 'secrets'> | null> {
  const url = sealed && (await personal.open(sealed));
  if (url === null) return null;
  const ids = liveSecrets(known, clock.now().toISOString()).map(({ id }) => id);
  const secrets = await webhookSecrets.read(endpointId, ids);
  if (secrets.length === ids.length && ids.length > 0) return { url, secrets };
  throw new GatewayError(
    'conflict',
    'A secret of this endpoint is missing; rotate it with overlap_seconds 0.',
  );
}
