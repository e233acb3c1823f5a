/** What webhooks need from outside the process: secrets that sign, one signed POST, and the record of its outcome. */
import type { NewEvent } from '../values/event.ts';
import type { DeliveryError } from '../values/webhook-event.ts';

/** Signing secrets in `vault`, encrypted under the master key; an event names each by its id. */
export interface WebhookSecrets {
  /** Makes a secret (`whsec_` and 32 random bytes in base64) and stores it. Shown once, by the caller. */
  create(endpointId: string): Promise<{ readonly id: string; readonly secret: string }>;
  /** The secrets with these ids, in their order; an erased one is left out. Throws `store_unavailable`. */
  read(endpointId: string, ids: readonly string[]): Promise<readonly string[]>;
  /** Erases these secrets of the endpoint, or every one. */
  erase(endpointId: string, ids?: readonly string[]): Promise<void>;
}

export interface WebhookRequest {
  readonly endpointId: string;
  readonly url: string;
  /** The `webhook-id`. */
  readonly id: string;
  /** The payload, exactly as it is signed. */
  readonly body: string;
  /** Each makes one signature; the newest first. */
  readonly secrets: readonly string[];
}

/** How one POST ended. */
export interface WebhookResponse {
  /** `succeeded` for 2xx. `blocked` when the target is forbidden or redirected; it is not retried. */
  readonly status: 'succeeded' | 'failed' | 'blocked';
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly httpStatus: number | null;
  /** Null on success. */
  readonly error: DeliveryError | null;
  /** At most 1 KiB of the response, as text; empty when there was none. */
  readonly excerpt: string;
  /** The pause that a Retry-After header asks for. */
  readonly retryAfterSeconds: number | null;
}

export interface WebhookSender {
  /** Refuses a URL that may never be called. Throws `invalid_request` or `target_blocked`. */
  vet(url: string): Promise<void>;
  /** One attempt, within the deadline; never throws for what the endpoint does. */
  post(request: WebhookRequest): Promise<WebhookResponse>;
}

/** This process's own stream of outcomes, `webhookDeliveries-<run id>-<yyyymmddhh>`. */
export interface DeliveryLog {
  /**
   * Resolves when the outcome is in the log (`endedEntry`). Throws `store_unavailable` when the store does not take it at
   * once; it is not stored later either, unless only the answer was lost.
   */
  record(entry: Omit<NewEvent, 'id'>): Promise<void>;
}
