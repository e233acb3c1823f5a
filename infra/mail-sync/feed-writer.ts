/** Appends to a mailbox's feed at the exact revision, only while its lease holds. */
import { appendFacts, type Author } from '../../commands/kernel/decide-and-append.ts';
import { catalogueOf, type Fact } from '../../commands/kernel/event.ts';
import { type FeedEvent, feedEvents, feedStream } from '../../commands/feed/feed-events.ts';
import { type ExpectedRevision, type Ports, WrongExpectedRevision } from '../../commands/kernel/ports.ts';
import type { Position } from '../../commands/kernel/position.ts';
import { type MailboxLease, MailboxLost } from './mailbox-leases.ts';

const catalogue = catalogueOf(feedEvents);

export interface FeedWriterOptions {
  readonly ports: Pick<Ports, 'events' | 'ids' | 'clock'>;
  readonly author: Author;
  readonly lease: MailboxLease;
}

export class FeedWriter {
  readonly #options: FeedWriterOptions;
  #stream: string | null = null;
  #revision: ExpectedRevision = 'no-stream';
  #lastEventAt: Date | null = null;

  constructor(options: FeedWriterOptions) {
    this.#options = options;
  }

  /** When this worker last told something. */
  get lastEventAt(): Date | null {
    return this.#lastEventAt;
  }

  /** The log position of the last fact. Throws `MailboxLost` when another worker may have written, `store_unavailable`. */
  async append(facts: readonly Fact<FeedEvent>[]): Promise<Position> {
    const { ports, author, lease } = this.#options;
    const now = ports.clock.now();
    const stream = feedStream(lease.mailboxId, now);
    if (stream !== this.#stream) await this.#begin(stream);
    if (!lease.isHeld()) throw new MailboxLost(lease.mailboxId);
    try {
      const { revision, position } = await appendFacts(ports, author, {
        stream,
        expected: this.#revision,
        catalogue,
        facts,
      });
      this.#revision = revision;
      this.#lastEventAt = now;
      return position;
    } catch (error) {
      if (error instanceof WrongExpectedRevision) throw new MailboxLost(lease.mailboxId);
      throw error;
    }
  }

  async #begin(stream: string): Promise<void> {
    this.#revision = (await this.#options.ports.events.readLast(stream))?.revision ?? 'no-stream';
    this.#stream = stream;
  }
}
