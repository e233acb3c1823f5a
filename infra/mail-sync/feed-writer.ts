/**
 * Appends to a mailbox's feed at the exact revision, only while the lease is held. A late append of an earlier holder is
 * detected before anything else is appended.
 */
import { appendFacts, type Author } from '../../commands/kernel/decide-and-append.ts';
import { catalogueOf, type Fact } from '../../commands/values/event.ts';
import { type FeedEvent, feedEvents, feedStream } from '../../commands/feed/feed-events.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { type ExpectedRevision, WrongExpectedRevision } from '../../commands/ports/event-store.ts';
import type { Position } from '../../commands/values/position.ts';
import { type MailboxLease, MailboxLost } from './mailbox-leases.ts';

const DAY_MS = 24 * 60 * 60_000;

const catalogue = catalogueOf(feedEvents);

export interface FeedWriterOptions {
  readonly ports: Pick<Ports, 'events' | 'ids' | 'clock'>;
  readonly author: Author;
  readonly lease: MailboxLease;
}

export class FeedWriter {
  readonly #options: FeedWriterOptions;
  /** The last revision of each stream: today's, and yesterday's until the first append of today. */
  readonly #ends = new Map<string, ExpectedRevision>();
  #lastEventAt: Date | null = null;

  constructor(options: FeedWriterOptions) {
    this.#options = options;
  }

  /** When this worker last appended. */
  get lastEventAt(): Date | null {
    return this.#lastEventAt;
  }

  /** Call this after taking the lease and before reading the feed. Throws `store_unavailable`. */
  async begin(): Promise<void> {
    if (this.#ends.size > 0) return;
    const now = this.#options.ports.clock.now();
    await this.#note(this.#streamOf(new Date(now.getTime() - DAY_MS)));
    await this.#note(this.#streamOf(now));
  }

  /** Returns the log position of the last fact. Throws `MailboxLost` when another worker may have written, `store_unavailable`. */
  async append(facts: readonly Fact<FeedEvent>[]): Promise<Position> {
    const { ports, author, lease } = this.#options;
    const now = ports.clock.now();
    const stream = this.#streamOf(now);
    await this.#note(stream);
    await this.#closeBefore(stream);
    if (!lease.isHeld()) throw new MailboxLost(lease.mailboxId);
    try {
      const { revision, position } = await appendFacts(ports, author, {
        stream,
        expected: this.#ends.get(stream) ?? 'no-stream',
        catalogue,
        facts,
      });
      this.#ends.set(stream, revision);
      this.#lastEventAt = now;
      return position;
    } catch (error) {
      if (error instanceof WrongExpectedRevision) throw new MailboxLost(lease.mailboxId);
      throw error;
    }
  }

  #streamOf(at: Date): string {
    return feedStream(this.#options.lease.mailboxId, at);
  }

  async #note(stream: string): Promise<void> {
    if (!this.#ends.has(stream)) this.#ends.set(stream, await this.#endOf(stream));
  }

  /** Nothing rejects an append to an earlier day's stream, so it is checked once before the new day's stream begins. */
  async #closeBefore(stream: string): Promise<void> {
    for (const [earlier, end] of this.#ends) {
      if (earlier === stream) continue;
      if ((await this.#endOf(earlier)) !== end) throw new MailboxLost(this.#options.lease.mailboxId);
      this.#ends.delete(earlier);
    }
  }

  async #endOf(stream: string): Promise<ExpectedRevision> {
    return (await this.#options.ports.events.readLast(stream))?.revision ?? 'no-stream';
  }
}
