/** The newest changes of all mailboxes in memory, up to a number and a size; the oldest are evicted first. */
import { type FeedPlace, isAfter, type ObservedChange } from '../../commands/ports/change-feed.ts';
import { approximateBytes } from '../../commands/values/approximate-bytes.ts';
import type { Position } from '../../commands/values/position.ts';

/** A change takes a few hundred bytes, but a mail server may have many long keywords. */
const MOST_BYTES = 8 * 1_048_576;

interface Noted {
  readonly mailboxId: string;
  readonly changes: readonly ObservedChange[];
  readonly bytes: number;
}

export class RecentChanges {
  readonly #limit: number;
  /** One entry per event, oldest first; both collections have the same order. */
  readonly #all: Noted[] = [];
  readonly #byMailbox = new Map<string, Noted[]>();
  #count = 0;
  #bytes = 0;
  #from: Position;

  /** Changes up to `from` are unknown. */
  constructor(limit: number, from: Position) {
    this.#limit = limit;
    this.#from = from;
  }

  /** Every change after this position is kept. */
  get from(): Position {
    return this.#from;
  }

  /** Adds the changes of one event. */
  add(mailboxId: string, changes: readonly ObservedChange[]): void {
    if (changes.length === 0) return;
    const noted = { mailboxId, changes, bytes: approximateBytes(changes) };
    const own = this.#byMailbox.get(mailboxId);
    if (own) own.push(noted);
    else this.#byMailbox.set(mailboxId, [noted]);
    this.#all.push(noted);
    this.#count += changes.length;
    this.#bytes += noted.bytes;
    while (this.#count > this.#limit || this.#bytes > MOST_BYTES) this.#giveUpOldest();
  }

  /** The changes of a mailbox after a place; null when they may go back further than is kept. */
  after(mailboxId: string, place: FeedPlace): readonly ObservedChange[] | null {
    if (isAfter({ position: this.#from, index: Infinity }, place)) return null;
    const noted = this.#byMailbox.get(mailboxId) ?? [];
    const first =
      noted.findLastIndex(({ changes: [change] }) => (change?.position ?? 0n) < place.position) + 1;
    return noted.slice(first).flatMap(({ changes }) => changes.filter((change) => isAfter(change, place)));
  }

  #giveUpOldest(): void {
    const oldest = this.#all.shift();
    if (!oldest) return;
    const own = this.#byMailbox.get(oldest.mailboxId);
    own?.shift();
    if (own?.length === 0) this.#byMailbox.delete(oldest.mailboxId);
    this.#count -= oldest.changes.length;
    this.#bytes -= oldest.bytes;
    this.#from = oldest.changes.at(-1)?.position ?? this.#from;
  }
}
