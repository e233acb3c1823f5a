/** The outcome of an attempt as the log holds it. */
import type { WebhookResponse } from '../../commands/ports/webhook-port.ts';
import type { Sealed } from '../../commands/values/sealed.ts';
import type { DeliveryError } from '../../commands/values/webhook-event.ts';
import type { DeliveryEnded } from '../../commands/webhooks/delivery-events.ts';
import { afterInterruption, type Following } from '../../commands/webhooks/next-attempt.ts';
import type { Claim } from './claims.ts';

const unsent = ({ delivery }: Claim) => ({
  delivery_id: delivery.id,
  endpoint_id: delivery.endpointId,
  event_id: delivery.eventId,
  event_type: delivery.eventType as DeliveryEnded['event_type'],
  trigger: delivery.trigger,
  attempt: delivery.attempt,
  failures: delivery.failures,
  sequence: delivery.sequence,
  started_at: null,
  duration_ms: null,
  http_status: null,
  response_excerpt: null,
  withheld: false,
  next: null,
  not_before: null,
});

/** No request was made, and none will be. */
export const cancelled = (claim: Claim, code: DeliveryError): DeliveryEnded => ({
  ...unsent(claim),
  status: 'cancelled',
  error: { code },
});

/** Whether a request was made is not known, or how it ended could not be recorded. */
export const interrupted = (claim: Claim, now: Date): DeliveryEnded => ({
  ...unsent(claim),
  ...afterInterruption(claim.delivery, now),
  status: 'interrupted',
  error: { code: 'interrupted' },
});

export const answered = (
  claim: Claim,
  response: WebhookResponse,
  more: Following & { readonly response_excerpt: Sealed | null; readonly withheld: boolean },
): DeliveryEnded => ({
  ...unsent(claim),
  status: response.status,
  started_at: response.startedAt.toISOString(),
  duration_ms: response.durationMs,
  http_status: response.httpStatus,
  error: response.error === null ? null : { code: response.error },
  ...more,
});
