/**
 * Which mail servers tell of news in an IDLE as it happens. RFC 2177 does not ask for that: Courier looks once a minute, and at
 * the beginning of each IDLE. It is learned from a few mailboxes of each server, whose IDLE is ended for a NOOP every so often
 * until the server has shown which it is.
 */
export type IdleVerdict = 'unknown' | 'prompt' | 'late';

/** Mailboxes asked to find out: of one server, and at once in a process, however many servers stay silent. */
const ASKED_OF_SERVER = 3;
const ASKED_AT_ONCE = 20;

/** News that came only on asking so often, with none in between that came by themselves, come late. */
const LATE_NEWS = 3;

/**
 * The beginning of an IDLE brings what happened before it. What is told between these two was not there then, so the server did
 * not wait for longer than the second with it.
 */
const PROMPT_MS = { from: 500, to: 1_500 } as const;

interface Observed {
  readonly verdict: IdleVerdict;
  /** News in a row that came only on asking. */
  readonly late: number;
}

const NOTHING: Observed = { verdict: 'unknown', late: 0 };

/** What the process has learned. A server is `<host>:<port>`; it is never too late for it to show something else. */
export class IdleVerdicts {
  readonly #seen = new Map<string, Observed>();
  /** Mailbox → server, of those that are asked to find out. The one that had news last is the last. */
  readonly #asked = new Map<string, string>();

  verdictOf(server: string): IdleVerdict {
    return (this.#seen.get(server) ?? NOTHING).verdict;
  }

  /** Whether the mailbox is to be asked for news beside its IDLE. */
  isAsked(server: string, mailboxId: string): boolean {
    const verdict = this.verdictOf(server);
    if (verdict !== 'unknown') return verdict === 'late';
    if (this.#inTheWay(server, mailboxId) === null) this.#asked.set(mailboxId, server);
    return this.#asked.has(mailboxId);
  }

  /** The server told news by itself, in an IDLE that began so long before. */
  reportedUnasked(server: string, mailboxId: string, afterMs: number): void {
    if (afterMs >= PROMPT_MS.from && afterMs <= PROMPT_MS.to) {
      this.#seen.set(server, { verdict: 'prompt', late: 0 });
      for (const [id, own] of this.#asked) if (own === server) this.#asked.delete(id);
    } else if (this.verdictOf(server) === 'unknown') {
      this.#prefer(server, mailboxId);
    }
  }

  /** The server had news in an IDLE, and told them when it was asked. */
  reportedOnAsking(server: string): void {
    const late = (this.#seen.get(server) ?? NOTHING).late + 1;
    this.#seen.set(server, { verdict: late >= LATE_NEWS ? 'late' : this.verdictOf(server), late });
  }

  /** A list of the folders had news of INBOX that no IDLE had told. */
  missed(server: string): void {
    if (this.verdictOf(server) === 'prompt') this.#seen.delete(server);
  }

  /** The mailbox is watched no more. */
  leave(mailboxId: string): void {
    this.#asked.delete(mailboxId);
  }

  /** Mailboxes that have news show what the server does; silent ones make way for them. */
  #prefer(server: string, mailboxId: string): void {
    this.#asked.delete(mailboxId);
    this.#asked.delete(this.#inTheWay(server, mailboxId) ?? mailboxId);
    this.#asked.set(mailboxId, server);
  }

  /** The mailbox in whose place another one of the server would be asked; null when there is room, or it is asked already. */
  #inTheWay(server: string, mailboxId: string): string | null {
    if (this.#asked.has(mailboxId)) return null;
    const all = [...this.#asked.keys()];
    const same = all.filter((id) => this.#asked.get(id) === server);
    if (same.length >= ASKED_OF_SERVER) return same[0] ?? null;
    return all.length >= ASKED_AT_ONCE ? (all[0] ?? null) : null;
  }
}
