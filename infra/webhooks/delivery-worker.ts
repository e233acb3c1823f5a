/** Makes the attempts that are due: claims them, sends each, and records how it ended (`contract.md` 11). */
import { type Author, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { restorableOrgs } from '../../commands/kernel/membership.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { WebhookResponse } from '../../commands/ports/webhook-port.ts';
import type { DeliveryEnded } from '../../commands/webhooks/delivery-events.ts';
import { disableEndpoint } from '../../commands/webhooks/disable-endpoint.ts';
import { endedEntry, sealedExcerpt } from '../../commands/webhooks/ended-entry.ts';
import type { DisableReason } from '../../commands/webhooks/endpoint-events.ts';
import { afterResponse } from '../../commands/webhooks/next-attempt.ts';
import { KeyedBackoff } from '../concurrency/backoff.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import { WakeSignal } from '../concurrency/wake-signal.ts';
import type { Metrics } from '../observability/metrics.ts';
import { answered, cancelled, interrupted } from './attempt-outcome.ts';
import { type Allowed, type Claim, DeliveryClaims, WORKER_LEASE } from './claims.ts';
import type { DeliveryStream } from './delivery-log.ts';
import { CONNECTIONS } from './post-webhook.ts';
import { prepareRequest } from './prepare-request.ts';
import { reasonToDisable } from './reason-to-disable.ts';
import { runLooks } from './run-looks.ts';
import { untilBack } from './until-back.ts';

export interface DeliveryWorkerParts {
  readonly ports: Ports;
  readonly deliveryLog: DeliveryStream;
  /** Postgres itself, for LISTEN. */
  readonly directUrl: string;
  /** Requests at once. */
  readonly concurrency: number;
  readonly metrics?: Pick<Metrics, 'webhookAttempted'>;
}

/** Outcomes that wait for the log, or for the read model; nothing is claimed beyond. */
const MOST_RECORDING = 2_000;
/** Of all attempts, while other organisations wait. */
const SHARE_OF_ONE_ORGANISATION = 1 / 4;
/** A claim without a place among the requests by then is given back: its endpoint may have changed. */
const PLACE_WITHIN_MS = 1_000;
/** Of an endpoint whose attempts could not be made, for a reason of the gateway. */
const PAUSES = { firstMs: 1_000, mostMs: 60_000 };
/** After the deadline of the attempts under way, for their outcomes. */
const RECORD_WITHIN_MS = 5_000;

interface Sent {
  readonly response: WebhookResponse;
  readonly withheld: boolean;
}

export class DeliveryWorker {
  readonly #parts: DeliveryWorkerParts;
  readonly #claims: DeliveryClaims;
  readonly #lease: string;
  readonly #pauses: KeyedBackoff;
  readonly #wake = new WakeSignal();
  readonly #underWay = new Map<string, { readonly claim: Claim; readonly ended: Promise<void> }>();
  readonly #places: Semaphore;
  /** Of those under way, the ones whose request has ended. */
  #recording = 0;
  /** Requests that ended since the last pass began: about as many end during the next one. */
  #endedRequests = 0;
  /** Attempts whose outcome is in the log, those that sent nothing, and those that failed, until their claims are gone. */
  readonly #recorded = new Set<string>();
  readonly #released = new Set<string>();
  readonly #failed = new Set<string>();
  /** Attempts whose request may have been made. */
  readonly #posted = new Set<string>();
  readonly #authors = new Map<string | null, Author>();
  #isAskedToEnd = false;
  #isEnding = false;

  constructor(parts: DeliveryWorkerParts) {
    const { sql, events, log, leases, clock } = parts.ports;
    this.#parts = parts;
    this.#places = new Semaphore(parts.concurrency);
    this.#claims = new DeliveryClaims({ sql, events, log, runId: leases.runId });
    this.#lease = `${WORKER_LEASE}${leases.runId}`;
    this.#pauses = new KeyedBackoff(clock, PAUSES);
  }

  /** Requests under way. */
  get inFlight(): number {
    return this.#underWay.size - this.#recording - this.#places.waiting;
  }

  /** For how long something that is due has waited. */
  lagSeconds(): Promise<number> {
    return this.#claims.lagSeconds(this.#allowed());
  }

  /** Makes attempts until the signal aborts; then those under way may end. */
  async run(signal: AbortSignal): Promise<void> {
    const end = (): void => {
      this.#isAskedToEnd = true;
    };
    signal.addEventListener('abort', end, { once: true });
    const { directUrl, ports } = this.#parts;
    const looks = { ...ports, directUrl, wake: this.#wake };
    const isIdle = (withinMs: number): Promise<boolean> => this.#isIdle(withinMs);
    // While claims wait for a place, more of them are in no hurry.
    const mayHurry = (): boolean => this.#places.waiting === 0;
    await runLooks({ ...looks, isIdle, mayHurry, pass: () => this.pass(), end: () => this.#end() }, signal);
  }

  /** Nothing is in hand, and nothing becomes due so soon. Throws `store_unavailable`. */
  async #isIdle(withinMs: number): Promise<boolean> {
    const inHand = [this.#underWay, this.#recorded, this.#released, this.#failed];
    if (inHand.some(({ size }) => size > 0) || !this.#parts.ports.leases.isHeld(this.#lease)) return false;
    return await this.#claims.isQuiet(this.#allowed(withinMs));
  }

  /** Claims what is due and begins it. Throws `store_unavailable`. */
  async pass(): Promise<void> {
    const { ports, deliveryLog, concurrency } = this.#parts;
    const isReady = !this.#isAskedToEnd && !deliveryLog.isAway && (await ports.directory.untilCurrent());
    // Some are claimed ahead, so that no place is empty until the next pass.
    const ahead = Math.min(concurrency, this.#endedRequests);
    this.#endedRequests = 0;
    const begun = this.#underWay.size - this.#recording;
    const unseen = this.#recording + this.#recorded.size;
    const room = Math.min(concurrency + ahead - begun, MOST_RECORDING - unseen);
    this.#authors.clear();
    if (!ports.leases.isHeld(this.#lease)) await ports.leases.acquire(this.#lease);
    try {
      const claims = await this.#claims.take({
        ...this.#allowed(),
        recorded: [...this.#recorded],
        released: [...this.#released],
        failed: [...this.#failed],
        limit: isReady ? room : 0,
        underWay: [...this.#underWay.values()].map(({ claim }) => claim),
        ofOneOrganisation: Math.ceil(concurrency * SHARE_OF_ONE_ORGANISATION),
        exceptEndpoints: this.#pauses.waiting(),
        healthyRoom: CONNECTIONS,
      });
      for (const id of claims.over)
        for (const known of [this.#recorded, this.#released, this.#failed]) known.delete(id);
      const until = AbortSignal.timeout(PLACE_WITHIN_MS);
      for (const claim of claims.due) this.#begin(claim, () => this.#attempt(claim, until));
      for (const claim of claims.interrupted) this.#begin(claim, () => this.#interrupt(claim));
      for (const claim of claims.expired)
        this.#begin(claim, () => this.#record(claim, cancelled(claim, 'expired')));
    } catch (error) {
      this.#claims.distrust();
      throw error;
    }
  }

  /** At this time from now. */
  #allowed(inMs = 0): Allowed {
    const { clock, server, directory } = this.#parts.ports;
    const now = new Date(clock.now().getTime() + inMs);
    const expiredBefore = new Date(now.getTime() - server.webhookTimes.keptForMs);
    return { now, expiredBefore, exceptOrganisations: restorableOrgs(directory.state) };
  }

  #begin(claim: Claim, work: () => Promise<void>): void {
    const { id } = claim.delivery;
    // Its claim was lost with `work`, and is taken again while the attempt goes on.
    if (this.#underWay.has(id)) return;
    const ended = work()
      .catch((error: unknown) => this.#putOff(claim, error))
      .finally(() => {
        this.#underWay.delete(id);
        this.#posted.delete(id);
        this.#wake.ring();
      });
    this.#underWay.set(id, { claim, ended });
  }

  /** Due again after a pause. What may have been sent is interrupted; when this process ends before, another records that. */
  async #putOff(claim: Claim, error: unknown): Promise<void> {
    const { id, endpointId } = claim.delivery;
    const tell = (what: unknown): void => {
      const about = { delivery_id: id, endpoint_id: endpointId, error: String(what) };
      this.#parts.ports.log.error('webhooks: attempt not recorded', about);
    };
    tell(error);
    this.#pauses.failed(endpointId);
    if (this.#posted.has(id)) await this.#lasting(() => this.#interrupt(claim)).catch(tell);
    else this.#released.add(id);
  }

  /** Sends the request as soon as there is a place for it. */
  async #attempt(claim: Claim, until: AbortSignal): Promise<void> {
    const { delivery, endpoint } = claim;
    const send = async () => (this.#isAskedToEnd ? null : await this.#send(claim));
    const sent = await this.#places.run(send, until);
    if (sent === null) {
      this.#released.add(delivery.id);
    } else if (sent === 'rights_gone' && (await this.#disable(claim, 'rights_gone'))) {
      await this.#record(claim, cancelled(claim, 'endpoint_disabled'));
    } else if (sent === 'rights_gone' || sent === 'not_sent') {
      // With the rights gone: another person stands for the endpoint since it was claimed.
      this.#released.add(delivery.id);
      this.#pauses.failed(endpoint.id);
    } else {
      this.#recording += 1;
      this.#wake.ring();
      await this.#settle(claim, sent).finally(() => {
        this.#recording -= 1;
      });
    }
  }

  async #send(claim: Claim): Promise<Sent | 'rights_gone' | 'not_sent'> {
    const { ports, metrics } = this.#parts;
    const prepared = await prepareRequest(ports, claim);
    // Without the lease another run may have taken it over.
    if (prepared === null || !ports.leases.isHeld(this.#lease)) return 'not_sent';
    if (prepared === 'rights_gone') return prepared;
    this.#posted.add(claim.delivery.id);
    const response = await ports.webhookSender.post(prepared.request);
    this.#endedRequests += 1;
    if (response.status !== 'succeeded') this.#failed.add(claim.delivery.id);
    metrics?.webhookAttempted({
      outcome: response.error ?? 'succeeded',
      seconds: response.durationMs / 1_000,
    });
    return { response, withheld: prepared.withheld };
  }

  async #settle(claim: Claim, { response, withheld }: Sent): Promise<void> {
    const { ports } = this.#parts;
    const { clock, server } = ports;
    const now = clock.now();
    const timing = { times: server.webhookTimes, now, chance: Math.random() };
    const following = afterResponse(claim.delivery, response, timing);
    const excerpt = await this.#lasting(() => sealedExcerpt(ports, claim.endpoint.state, response));
    const reason = await this.#lasting(() => reasonToDisable(ports, claim, response, now));
    // First: no attempt is to follow one after which the endpoint is disabled. It is not when a person changed it meanwhile.
    const isDisabled = reason !== null && (await this.#disable(claim, reason));
    const next = isDisabled ? null : following.next;
    const ended = answered(claim, response, { ...following, next, response_excerpt: excerpt, withheld });
    await this.#record(claim, ended);
    this.#pauses.clear(claim.endpoint.id);
  }

  /** True when nothing more is sent to the endpoint. */
  #disable({ endpoint: { id, orgId, state } }: Claim, reason: DisableReason): Promise<boolean> {
    return this.#lasting(() => disableEndpoint(this.#parts.ports, { id, orgId }, reason, state));
  }

  async #record(claim: Claim, ended: DeliveryEnded): Promise<void> {
    const { ports, deliveryLog } = this.#parts;
    const { orgId, mailboxId, id } = claim.delivery;
    await deliveryLog.keep(endedEntry(this.#author(orgId), ports.clock.now(), ended, mailboxId));
    this.#recorded.add(id);
  }

  /** What may have been sent, and nobody knows how it ended. */
  async #interrupt(claim: Claim): Promise<void> {
    this.#posted.add(claim.delivery.id);
    await this.#record(claim, interrupted(claim, this.#parts.ports.clock.now()));
  }

  /** The outcomes between two passes are recorded under one request id. */
  #author(orgId: string | null): Author {
    const author = this.#authors.get(orgId) ?? systemAuthor(this.#parts.ports, orgId);
    this.#authors.set(orgId, author);
    return author;
  }

  /** What must be done once a request was made: tried until the stores are back, or this process ends. */
  #lasting<T>(work: () => Promise<T>): Promise<T> {
    return untilBack(work, this.#parts.ports.clock, () => this.#isEnding);
  }

  async #end(): Promise<void> {
    const { clock, server, leases, log } = this.#parts.ports;
    const limit = new AbortController();
    const late = clock.sleep(server.webhookTimes.deadlineMs + RECORD_WITHIN_MS, limit.signal);
    await Promise.race([Promise.all([...this.#underWay.values()].map(({ ended }) => ended)), late]);
    limit.abort();
    this.#isEnding = true;
    try {
      await this.pass();
      // What is still under way is taken over by another run.
      await leases.release(this.#lease);
    } catch (error) {
      log.warn('webhooks: claims not released', { error: String(error) });
    }
  }
}
