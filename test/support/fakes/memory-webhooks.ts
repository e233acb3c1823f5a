/** The ports of webhooks in memory: secrets in a map, endpoints that answer as a test says. */
import type {
  WebhookRequest,
  WebhookResponse,
  WebhookSecrets,
  WebhookSender,
} from '../../../commands/ports/webhook-port.ts';
import type { ListedDelivery, WebhookRecords } from '../../../commands/ports/webhook-records.ts';
import type { Clock, WebhookTimes } from '../../../commands/ports/ports.ts';
import { newWebhookSecret } from '../../../infra/security/webhook-secrets.ts';

export const WEBHOOK_TIMES: WebhookTimes = {
  deadlineMs: 15_000,
  retryAfterMs: [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map(
    (seconds) => seconds * 1_000,
  ),
  disableAfterMs: 120 * 3_600_000,
  keptForMs: 30 * 86_400_000,
};

export class MemoryWebhookSecrets implements WebhookSecrets {
  readonly #secrets = new Map<string, { readonly endpointId: string; readonly secret: string }>();

  create(endpointId: string): Promise<{ readonly id: string; readonly secret: string }> {
    const id = `secret_${String(this.#secrets.size + 1)}`;
    const secret = newWebhookSecret();
    this.#secrets.set(id, { endpointId, secret });
    return Promise.resolve({ id, secret });
  }

  read(endpointId: string, ids: readonly string[]): Promise<readonly string[]> {
    const found = ids.map((id) => this.#secrets.get(id));
    return Promise.resolve(found.flatMap((each) => (each?.endpointId === endpointId ? [each.secret] : [])));
  }

  erase(endpointId: string, ids?: readonly string[]): Promise<void> {
    for (const [id, each] of this.#secrets)
      if (each.endpointId === endpointId && (ids?.includes(id) ?? true)) this.#secrets.delete(id);
    return Promise.resolve();
  }
}

/** Deliveries and numbers as a test sets them. */
export class MemoryWebhookRecords implements WebhookRecords {
  readonly deliveries = new Map<string, ListedDelivery>();
  endpoints = 0;
  replayable = 0;

  health(): Promise<null> {
    return Promise.resolve(null);
  }
  delivery(orgId: string, id: string): Promise<ListedDelivery | null> {
    const found = this.deliveries.get(id);
    return Promise.resolve(found?.orgId === orgId ? found : null);
  }
  countEndpoints(): Promise<number> {
    return Promise.resolve(this.endpoints);
  }
  countReplayable(): Promise<number> {
    return Promise.resolve(this.replayable);
  }
}

/** Remembers every request; answers 200 unless `answer` says otherwise. */
export class FakeWebhookSender implements WebhookSender {
  readonly requests: WebhookRequest[] = [];
  /** Thrown by `vet`; null = every URL is good. */
  refusal: Error | null = null;
  answer: (request: WebhookRequest) => Partial<WebhookResponse> = () => ({});
  readonly #clock: Pick<Clock, 'now'>;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  vet(): Promise<void> {
    return this.refusal === null ? Promise.resolve() : Promise.reject(this.refusal);
  }

  post(request: WebhookRequest): Promise<WebhookResponse> {
    this.requests.push(request);
    return Promise.resolve({
      status: 'succeeded',
      startedAt: this.#clock.now(),
      durationMs: 1,
      httpStatus: 200,
      error: null,
      excerpt: '',
      retryAfterSeconds: null,
      ...this.answer(request),
    });
  }
}
