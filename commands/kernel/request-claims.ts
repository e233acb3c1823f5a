/** Claims of requests other than operations: the key is taken late, settled at the end, replayed afterwards. */
import type { Caller } from './access.ts';
import type { CapabilityDefinition, Context, IdempotencyRule, Replay, Request } from './capability.ts';
import type { About, Author } from './decide-and-append.ts';
import { ERROR_TABLE, GatewayError } from '../values/errors.ts';
import { type HeldLease, holdLease } from './hold-lease.ts';
import {
  awaitClaim,
  type Claim,
  claimStream,
  keyInProgress,
  keyReused,
  readClaim,
  recordedError,
  replayedError,
  resultGone,
  writeClaim,
  writeSettled,
} from './idempotency.ts';
import type { IdPrefix } from '../values/ids.ts';
import type { PersonalData, Ports } from '../ports/ports.ts';
import type { StoredEvent } from '../values/event.ts';

interface Claimant {
  readonly capability: string;
  readonly fingerprint: string;
  readonly request: Request;
  readonly caller: Caller;
  /** The objects the input names. */
  readonly about: About;
}

/** The request of a key; its capability knows the types. */
interface Work<Output> {
  run(): Promise<Output>;
  replay(claim: Claim): Promise<Output | null>;
  markReplayed(): void;
  /** See `recordsOutcome` of the rule. */
  readonly recordsOutcome: boolean;
  readonly personal: Pick<PersonalData, 'open'>;
}

/** The life of one request's key. Without a key every method only passes through. */
export class RequestClaims {
  readonly #ports: Ports;
  readonly #author: Author;
  readonly #claimant: Claimant;
  readonly #operationId: string | null;
  /** The id that an earlier, interrupted request with this key chose. */
  #resumed: Claim | null = null;
  /** The mailbox of the request: a stored refusal is erased with it. */
  #mailboxId: string | null;
  /** Held from the claim until its end is recorded. */
  #lease: HeldLease | null = null;
  /** True once this request has claimed the key. */
  #hasKey = false;
  /** True when the stream of its object holds the outcome. */
  #isRecorded = false;

  constructor(ports: Ports, author: Author, claimant: Claimant) {
    this.#ports = ports;
    this.#author = author;
    this.#claimant = claimant;
    const { request, caller, about } = claimant;
    this.#mailboxId = about.mailbox_id ?? null;
    this.#operationId =
      request.idempotencyKey === null
        ? null
        : ports.ids.idForKey('opn', caller.org.id, caller.principal.id, request.idempotencyKey);
  }

  /** Replays a settled request, else runs the handler and records its end. A key of an operation passes through. */
  async settle<Input, Output>(
    capability: CapabilityDefinition<Input, Output>,
    input: Input,
    context: Context,
  ): Promise<Output> {
    const operationId = this.#operationId;
    const replay = replayOf(capability.idempotency, input);
    if (operationId === null || replay === null) return await capability.handle(input, context);
    const work: Work<Output> = {
      run: () => this.#run(operationId, () => capability.handle(input, context)),
      replay: ({ targetId, settled }) => replay(targetId ?? '', input, context, settled !== null),
      markReplayed: () => {
        context.markReplayed();
      },
      recordsOutcome: 'recordsOutcome' in capability.idempotency,
      personal: this.#ports.personal,
    };
    if ('claimsFirst' in capability.idempotency) return await this.#claimFirst(operationId, work);
    const earlier = await this.#earlier(operationId);
    return earlier === null ? await work.run() : await this.#repeat(operationId, earlier, work);
  }

  /** Runs at once. The key is read where it was taken before, and where the work ended without it. */
  async #claimFirst<Output>(operationId: string, work: Work<Output>): Promise<Output> {
    const [ran] = await Promise.allSettled([work.run()]);
    if (!this.#hasKey) {
      const earlier = await this.#earlier(operationId);
      if (earlier !== null) return await this.#repeat(operationId, earlier, work);
    }
    if (ran.status === 'fulfilled') return ran.value;
    throw ran.reason;
  }

  async #repeat<Output>(operationId: string, earlier: Claim, work: Work<Output>): Promise<Output> {
    return earlier.settled
      ? await replaySettled(earlier, work)
      : await this.#resume(operationId, earlier, work);
  }

  /**
   * Answers with the outcome that the object's stream holds. Else resumes an interrupted request: records the object it made,
   * or runs again with the id it chose.
   */
  async #resume<Output>(operationId: string, earlier: Claim, work: Work<Output>): Promise<Output> {
    const told = work.recordsOutcome ? await work.replay(earlier) : null;
    if (told !== null && this.#isRecorded) {
      work.markReplayed();
      return told;
    }
    this.#lease = await holdLease(this.#ports.leases, operationId);
    if (this.#lease === null) throw keyInProgress(1);
    try {
      // The first request may have ended between the read of its stream and the lease.
      const claim = (await this.#read(operationId)) ?? earlier;
      if (claim.settled) return await replaySettled(claim, work);
      const output = await work.replay(claim);
      if (output === null) {
        this.#resumed = claim;
        return await work.run();
      }
      await this.#writeSettled(operationId, null);
      work.markReplayed();
      return output;
    } finally {
      await this.#release();
    }
  }

  /**
   * Takes the key. The id is that of an earlier, interrupted request, or a new one. `mailboxId`: where the input does not name
   * the mailbox.
   */
  async take(prefix: IdPrefix, mailboxId?: string): Promise<string> {
    this.#mailboxId = mailboxId ?? this.#mailboxId;
    if (this.#resumed?.targetId != null) return this.#resumed.targetId;
    const targetId = this.#ports.ids.newId(prefix);
    const operationId = this.#operationId;
    if (operationId === null || this.#lease !== null) return targetId;
    const lease = await holdLease(this.#ports.leases, operationId);
    if (lease === null) throw await this.#taken(operationId);
    const { capability, fingerprint } = this.#claimant;
    const about = this.#about();
    const data = { capability, fingerprint, target_id: targetId, run_id: this.#ports.leases.runId };
    let isTaken = false;
    try {
      isTaken = await writeClaim(this.#ports, this.#author, operationId, { data, about });
    } finally {
      if (!isTaken) await lease.release();
    }
    if (!isTaken) throw await this.#taken(operationId);
    this.#lease = lease;
    this.#hasKey = true;
    return targetId;
  }

  /** See `Context.markRecorded`. */
  markRecorded(): void {
    this.#isRecorded = true;
  }

  /** The refusal while the first request of the key runs. Throws when that is a different request. */
  async #taken(operationId: string): Promise<GatewayError> {
    this.#claimIn(await awaitClaim(this.#ports, operationId));
    return keyInProgress(1);
  }

  /** The claim in the stream. Throws when the key belongs to a different request. */
  async #read(operationId: string): Promise<Claim | null> {
    return this.#claimIn(await this.#ports.events.readStream(claimStream(operationId)));
  }

  #claimIn(stored: readonly StoredEvent[]): Claim | null {
    if (stored.length === 0) return null;
    const claim = readClaim(stored);
    if (claim?.fingerprint !== this.#claimant.fingerprint) throw keyReused();
    return claim;
  }

  /** The claim of an earlier request. Throws what `#read` throws, and when that request still runs. */
  async #earlier(operationId: string): Promise<Claim | null> {
    const claim = await this.#read(operationId);
    if (claim === null || claim.settled) return claim;
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
      // Where the object has the outcome, its key stays unsettled: a repeat is refused while the lease is held.
      if (this.#isRecorded) return output;
      if (this.#lease !== null) await this.#writeSettled(operationId, null);
      this.#giveUp(operationId);
      return output;
    } catch (error) {
      if (!isOutcome(error) || this.#lease === null) throw error;
      // Another request with the key may have run meanwhile: the end of that one counts.
      if (!this.#ports.leases.isHeld(operationId)) throw keyInProgress(1);
      await this.#writeSettled(operationId, error);
      throw error;
    } finally {
      await this.#release();
    }
  }

  /** The key is settled, so no answer waits for this: a repeat needs no lease, and one that is not released runs out. */
  #giveUp(operationId: string): void {
    this.#release().catch((error: unknown) => {
      const fields = { operation_id: operationId, error: String(error) };
      this.#ports.log.warn('idempotency: lease not released', fields);
    });
  }

  async #writeSettled(operationId: string, error: GatewayError | null): Promise<void> {
    const about = this.#about();
    const owner = about.mailbox_id ?? this.#claimant.caller.principal.id;
    const kept = error && (await recordedError(this.#ports.personal, owner, error));
    await writeSettled(this.#ports, this.#author, operationId, { error: kept, about });
  }

  #about(): About {
    const { about } = this.#claimant;
    return this.#mailboxId === null ? about : { ...about, mailbox_id: this.#mailboxId };
  }

  async #release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = null;
    await lease?.release();
  }
}

function replayOf<Input, Output>(
  rule: IdempotencyRule<Input, Output>,
  input: Input,
): Replay<Input, Output> | null {
  if (rule.kind === 'claim') return rule.replay;
  return rule.kind === 'operation' ? (rule.claimed?.(input) ?? null) : null;
}

async function replaySettled<Output>(claim: Claim, work: Work<Output>): Promise<Output> {
  work.markReplayed();
  if (claim.settled?.outcome === 'error') throw await replayedError(work.personal, claim.settled.error);
  const output = await work.replay(claim);
  if (output !== null) return output;
  throw resultGone();
}

/** Internal errors, retryable errors and unknown outcomes do not settle the key: the next request with it continues. */
const isOutcome = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && !ERROR_TABLE[error.code].keyFree;
