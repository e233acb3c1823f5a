/** Why nothing more is to be sent to an endpoint after an answer; null while that is not so. */
import type { Ports } from '../../commands/ports/ports.ts';
import type { WebhookResponse } from '../../commands/ports/webhook-port.ts';
import { hasOnlyFailed } from '../../commands/webhooks/disable-endpoint.ts';
import type { DisableReason } from '../../commands/webhooks/endpoint-events.ts';
import { GONE } from '../../commands/webhooks/next-attempt.ts';
import type { Claim } from './claims.ts';

export async function reasonToDisable(
  ports: Ports,
  { endpoint: { id, health } }: Claim,
  { status, httpStatus }: WebhookResponse,
  now: Date,
): Promise<DisableReason | null> {
  if (status === 'succeeded') return null;
  if (httpStatus === GONE) return 'gone';
  const before = new Date(now.getTime() - ports.server.webhookTimes.disableAfterMs);
  if (health.firstFailureAt === null || new Date(health.firstFailureAt) >= before) return null;
  return (await hasOnlyFailed(ports, id, before)) ? 'failing' : null;
}
