/** Every kind of work at once, through two replicas and directly, and a record of everything acknowledged. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type EventStore, WrongExpectedRevision } from '../../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import type { LoadClient } from './load-client.ts';
import type { ToldAnswer, ToldResult } from '../models/log-invariants.ts';
import type { WatchedMailbox } from '../servers/watched-mailbox.ts';

export interface MixedLoadOptions {
  readonly client: LoadClient;
  /** The store itself, as another program uses it. */
  readonly events: EventStore;
  readonly watched: WatchedMailbox;
  readonly mailboxId: string;
  readonly agentId: string;
}

export interface Archived {
  readonly id: string;
  readonly subject: string;
}

interface Made {
  readonly id: string;
}
interface Found {
  readonly items: readonly Made[];
}
interface Reply {
  readonly operation_id: string;
  readonly results: readonly ToldResult[];
}

const PAUSE_MS = 10;
/** News of a message may take two seconds: asking for it more often is load on the machine, not on the gateway. */
const FIND_EVERY_MS = 100;
const RAW_STREAMS = 2;
const ARCHIVERS = 3;
const FIND_WITHIN_MS = 30_000;
const FINAL_WITHIN_MS = 90_000;

export class MixedLoad {
  readonly #options: MixedLoadOptions;
  readonly #stopping = new AbortController();
  readonly #reading = new AbortController();
  readonly #work: Promise<void>[] = [];
  #failure: Error | null = null;
  #reader: Promise<void> = Promise.resolve();
  readonly archived: Archived[] = [];
  readonly answers: ToldAnswer[] = [];
  /** Ids of raw events whose append was acknowledged. */
  readonly acknowledged = new Set<string>();
  readonly issued = new Set<string>();
  readonly revoked = new Set<string>();
  /** Names of messages that must exist exactly once. */
  readonly made = new Set<string>();
  /** Events a subscriber received, in that order. */
  readonly read: Pick<StoredEvent, 'id' | 'position'>[] = [];

  constructor(options: MixedLoadOptions) {
    this.#options = options;
  }

  start(): void {
    const { archive, query, issueToken, giveGrant } = this;
    for (let n = 0; n < ARCHIVERS; n += 1) this.#loop((turn) => archive(turn % 2 === n % 2));
    this.#loop(query);
    this.#loop(issueToken);
    this.#loop(giveGrant);
    for (let n = 0; n < RAW_STREAMS; n += 1) this.#watch(this.#appendRaw(`load-${randomUUID()}`));
    this.#reader = this.#readAll();
  }

  /** Lets every worker finish what it began. Throws the first error of any of them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#work);
  }

  /** For the end of a test that failed: ends all work, wherever it is. */
  async abandon(): Promise<void> {
    this.#options.client.giveUp();
    this.#stopping.abort();
    this.#reading.abort();
    await Promise.allSettled([...this.#work, this.#reader]);
  }

  /** Ends the subscriber once it has received the last event. Throws when that takes too long. */
  async caughtUp(head: bigint): Promise<void> {
    for (let tries = 0; tries < 1_000 && (this.read.at(-1)?.position ?? -1n) < head; tries += 1)
      await delay(10);
    this.#reading.abort();
    await this.#reader;
  }

  /** Throws the error that stopped a worker, if any. */
  assertUnhurt(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  #watch(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
    });
    this.#work.push(work);
  }

  #loop(work: (turn: number) => Promise<void>): void {
    const run = async (): Promise<void> => {
      for (let turn = 0; !this.#stopping.signal.aborted; turn += 1) {
        await work(turn);
        await delay(PAUSE_MS);
      }
    };
    this.#watch(run());
  }

  /** A message arrives, is found, marked and archived, over one adapter. */
  readonly archive = async (overRest: boolean): Promise<void> => {
    const { watched, client, mailboxId } = this.#options;
    const subject = `load ${randomUUID()}`;
    await watched.arrive('INBOX', subject);
    const select = { folder: 'inbox', filter: { subject_contains: subject } };
    const path = `/mailboxes/${mailboxId}`;
    const find = (): Promise<Found> =>
      overRest
        ? client.rest('POST', `${path}/email.query`, { select }, null)
        : client.tool('email_query', { select });
    const id = await this.#untilFound(find, subject);
    this.archived.push({ id, subject });
    for (const action of [{ type: 'set_flags', seen: true }, { type: 'archive' }]) {
      const operation = { type: 'message_actions', select: { message_ids: [id] }, actions: [action] };
      const key = randomUUID();
      const again = (): Promise<Reply> =>
        overRest
          ? client.rest('POST', `${path}/email.act`, { operation }, key)
          : client.tool('email_act', { operation, idempotency_key: key });
      await this.#untilFinal(again, action.type === 'archive');
    }
  };

  /** New mail is reported within two seconds; later while a part is being killed. */
  async #untilFound(find: () => Promise<Found>, subject: string): Promise<string> {
    const giveUpAt = performance.now() + FIND_WITHIN_MS;
    for (;;) {
      const [found] = (await find()).items;
      if (found !== undefined) return found.id;
      if (performance.now() > giveUpAt) throw new Error(`a query does not find what has arrived: ${subject}`);
      await delay(FIND_EVERY_MS);
    }
  }

  /** An unknown outcome is requested again: it is settled once the mailbox can be read. */
  async #untilFinal(again: () => Promise<Reply>, isRecorded: boolean): Promise<void> {
    const giveUpAt = performance.now() + FINAL_WITHIN_MS;
    for (;;) {
      const { operation_id, results } = await again();
      if (isRecorded) this.answers.push({ operationId: operation_id, results });
      if (results.every(({ outcome }) => outcome !== 'unknown')) return;
      if (performance.now() > giveUpAt) throw new Error(`${operation_id} stays without a known outcome`);
      await delay(PAUSE_MS);
    }
  }

  readonly query = async (turn: number): Promise<void> => {
    const { client, mailboxId } = this.#options;
    const select = { folder: 'inbox', filter: { seen: false } };
    if (turn % 2 === 0) await client.rest('POST', `/mailboxes/${mailboxId}/email.query`, { select }, null);
    else await client.tool('email_query', { select });
  };

  readonly issueToken = async (turn: number): Promise<void> => {
    const { client, agentId } = this.#options;
    const name = `Load token ${randomUUID()}`;
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const wanted = { name, principal_id: agentId, surface: 'rest', scopes: ['messages:read'], expires_at };
    const { id } = await client.rest<Made>('POST', '/tokens', wanted, randomUUID());
    this.issued.add(id);
    this.made.add(name);
    if (turn % 2 === 0) return;
    await client.rest('DELETE', `/tokens/${id}`, undefined, randomUUID());
    this.revoked.add(id);
  };

  readonly giveGrant = async (): Promise<void> => {
    const { client, mailboxId } = this.#options;
    const name = `Load agent ${randomUUID()}`;
    const { id } = await client.rest<Made>('POST', '/agents', { name }, randomUUID());
    this.made.add(name);
    const terms = { principal_id: id, scopes: ['messages:read'] };
    await client.rest('POST', `/mailboxes/${mailboxId}/grants`, terms, randomUUID());
  };

  /**
   * Appends at exact revisions; after an append of unknown outcome the stream is read, as by any writer. What that append wrote
   * may be there only after the read, and before the next append.
   */
  async #appendRaw(stream: string): Promise<void> {
    const { events } = this.#options;
    let revision = -1n;
    let isLastUnknown = false;
    while (!this.#stopping.signal.aborted) {
      const count = 1 + (Number(revision + 1n) % 3);
      const proposed = Array.from({ length: count }, () => ({
        id: randomUUID(),
        type: 'LoadHappened',
        data: {},
        metadata: {},
      }));
      try {
        const expected = revision < 0n ? 'no-stream' : revision;
        ({ revision } = await events.append(stream, expected, proposed));
        for (const { id } of proposed) this.acknowledged.add(id);
        isLastUnknown = false;
      } catch (error) {
        if (error instanceof WrongExpectedRevision && !isLastUnknown) throw error;
        isLastUnknown = !(error instanceof WrongExpectedRevision);
        revision = await this.#lastOf(stream);
      }
      await delay(PAUSE_MS);
    }
  }

  async #lastOf(stream: string): Promise<bigint> {
    while (!this.#stopping.signal.aborted) {
      try {
        return (await this.#options.events.readLast(stream))?.revision ?? -1n;
      } catch {
        // The store is unavailable: the waiting work continues when it is back.
        await delay(PAUSE_MS);
      }
    }
    return -1n;
  }

  async #readAll(): Promise<void> {
    for await (const item of this.#options.events.subscribeToAll(null, this.#reading.signal)) {
      if (item.kind === 'event') this.read.push({ id: item.event.id, position: item.event.position });
    }
  }
}
