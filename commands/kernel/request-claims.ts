/** Claims of requests that are no operation: the key is taken late, settled at the end, replayed afterwards. */
import type { Caller } from './access.ts';
import type { CapabilityDefinition, Context, Request } from './capability.ts';
import type { Author } from './decide-and-append.ts';
import { GatewayError } from './errors.ts';
import {
  type Claim,
  claimStream,
  keyInProgress,
  keyReused,
  readClaim,
  writeClaim,
  writeSettled,
} from './idempotency.ts';
import type { IdPrefix } from './ids.ts';
import type { Ports } from './ports.ts';

interface Claimant {
  readonly capability: string;
  readonly fingerprint: string;
  readonly request: Request;
  readonly caller: Caller;
}

/** The life of one request's key. Without a key every method only passes through. */
export class RequestClaims {
  readonly #ports: Ports;
  readonly #author: Author;
  readonly #claimant: Claimant;
  readonly #operationId: string | null;
  /** What an earlier, cut-off request with this key had chosen. */
  #resumed: Claim | null = null;
  #taken = false;

  constructor(ports: Ports, author: Author, claimant: Claimant) {
    this.#ports = ports;
    this.#author = author;
    this.#claimant = claimant;
    const { request, caller } = claimant;
    this.#operationId =
      request.idempotencyKey === null
        ? null
        : ports.ids.idForKey('opn', caller.org.id, caller.principal.id, request.idempotencyKey);
  }

  /** Replays a settled request, else runs the handler and records how it ended. */
  async settle<Input, Output>(
    capability: CapabilityDefinition<Input, Output>,
    input: Input,
    context: Context,
  ): Promise<Output> {
    const operationId = this.#operationId;
    if (operationId === null || capability.idempotency.kind !== 'claim')
      return await capability.handle(input, context);
    const earlier = await this.#earlier(operationId);
    if (earlier?.settled?.outcome === 'error') {
      context.markReplayed();
      throw earlier.settled.error;
    }
    if (earlier) {
      const output = await capability.idempotency.replay(
        earlier.targetId ?? '',
        input,
        context,
        earlier.settled !== null,
      );
      if (output !== null) {
        if (!earlier.settled) await writeSettled(this.#ports, this.#author, operationId, null);
        context.markReplayed();
        return output;
      }
      if (earlier.settled)
        throw new GatewayError('not_found', 'What this Idempotency-Key made no longer exists.');
      if (!(await this.#ports.leases.acquire(operationId))) throw keyInProgress(1);
      this.#resumed = earlier;
    }
    return await this.#run(operationId, () => capability.handle(input, context));
  }

  /** Takes the key. The id is the one an earlier, cut-off request had chosen, or a fresh one. */
  async take(prefix: IdPrefix): Promise<string> {
    if (this.#resumed?.targetId != null) return this.#resumed.targetId;
    const targetId = this.#ports.ids.newId(prefix);
    const operationId = this.#operationId;
    if (operationId === null || this.#taken) return targetId;
    await this.#ports.leases.acquire(operationId);
    const { capability, fingerprint } = this.#claimant;
    const data = { capability, fingerprint, target_id: targetId, run_id: this.#ports.leases.runId };
    if (!(await writeClaim(this.#ports, this.#author, operationId, data))) {
      const other = await this.#earlier(operationId);
      throw other ? keyInProgress(1) : keyReused();
    }
    this.#taken = true;
    return targetId;
  }

  /** The claim the stream holds. Throws when the key stands for something else, or its request still runs. */
  async #earlier(operationId: string): Promise<Claim | null> {
    const stored = await this.#ports.events.readStream(claimStream(operationId));
    if (stored.length === 0) return null;
    const claim = readClaim(stored);
    if (claim?.fingerprint !== this.#claimant.fingerprint) throw keyReused();
    if (claim.settled) return claim;
    const holder = await this.#ports.leases.holder(operationId);
    if (holder) {
      const seconds = Math.ceil((holder.until.getTime() - this.#ports.clock.now().getTime()) / 1_000);
      throw keyInProgress(Math.max(1, seconds));
    }
    return claim;
  }

  async #run<Output>(operationId: string, handle: () => Promise<Output>): Promise<Output> {
    try {
      const output = await handle();
      if (this.#taken || this.#resumed) await writeSettled(this.#ports, this.#author, operationId, null);
      return output;
    } catch (error) {
      // A defect or a store that is away is no outcome: the next request with this key goes on once the lease is gone.
      const isOutcome =
        error instanceof GatewayError && !['internal_error', 'store_unavailable'].includes(error.code);
      if (isOutcome && (this.#taken || this.#resumed)) {
        await writeSettled(this.#ports, this.#author, operationId, error);
      }
      throw error;
    } finally {
      if (this.#taken || this.#resumed) await this.#ports.leases.release(operationId);
    }
  }
}
