/**
 * Which mail servers report news during IDLE as it happens. RFC 2177 does not require it: Courier polls once a minute and
 * at the start of each IDLE. The verdict is learned from a few mailboxes of each server, whose IDLE is interrupted for a
 * NOOP at intervals until the server has shown its behaviour.
 */
export type IdleVerdict = 'unknown' | 'prompt' | 'late';

/** Mailboxes used for learning: per server, and per process however many servers stay silent. */
const ASKED_OF_SERVER = 3;
const ASKED_AT_ONCE = 20;

/** After this many news that arrived only on a NOOP, with none unasked in between, the verdict is `late`. */
const LATE_NEWS = 3;

/**
 * The start of an IDLE delivers what happened before it. News within this window did not exist at the start, so the server
 * delayed it by at most a second.
 */
const PROMPT_MS = { from: 500, to: 1_500 } as const;

interface Observed {
  readonly verdict: IdleVerdict;
  /** Consecutive news that arrived only on a NOOP. */
  readonly late: number;
}

const NOTHING: Observed = { verdict: 'unknown', late: 0 };

/** What the process has learned. A server is `<host>:<port>`; a verdict can change at any time. */
export class IdleVerdicts {
  readonly #seen = new Map<string, Observed>();
  /** Mailbox → server, of the mailboxes used for learning. The mailbox with the latest news comes last. */
  readonly #asked = new Map<string, string>();

  verdictOf(server: string): IdleVerdict {
    return (this.#seen.get(server) ?? NOTHING).verdict;
  }

  /** Whether the mailbox is polled with NOOP beside its IDLE. */
  isAsked(server: string, mailboxId: string): boolean {
    const verdict = this.verdictOf(server);
    if (verdict !== 'unknown') return verdict === 'late';
    if (this.#inTheWay(server, mailboxId) === null) this.#asked.set(mailboxId, server);
    return this.#asked.has(mailboxId);
  }

  /** The server reported news unasked, `afterMs` after the start of the IDLE. */
  reportedUnasked(server: string, mailboxId: string, afterMs: number): void {
    if (afterMs >= PROMPT_MS.from && afterMs <= PROMPT_MS.to) {
      this.#seen.set(server, { verdict: 'prompt', late: 0 });
      for (const [id, own] of this.#asked) if (own === server) this.#asked.delete(id);
    } else if (this.verdictOf(server) === 'unknown') {
      this.#prefer(server, mailboxId);
    }
  }

  /** The server had news during an IDLE and reported it only on a NOOP. */
  reportedOnAsking(server: string): void {
    const late = (this.#seen.get(server) ?? NOTHING).late + 1;
    this.#seen.set(server, { verdict: late >= LATE_NEWS ? 'late' : this.verdictOf(server), late });
  }

  /** A list of the folders had news of INBOX that no IDLE reported. */
  missed(server: string): void {
    if (this.verdictOf(server) === 'prompt') this.#seen.delete(server);
  }

  /** The mailbox is no longer watched. */
  leave(mailboxId: string): void {
    this.#asked.delete(mailboxId);
  }

  /** Mailboxes with news reveal the server's behaviour; silent ones are replaced by them. */
  #prefer(server: string, mailboxId: string): void {
    this.#asked.delete(mailboxId);
    this.#asked.delete(this.#inTheWay(server, mailboxId) ?? mailboxId);
    this.#asked.set(mailboxId, server);
  }

  /** The mailbox that this one would replace; null when there is room, or it is already used. */
  #inTheWay(server: string, mailboxId: string): string | null {
    if (this.#asked.has(mailboxId)) return null;
    const all = [...this.#asked.keys()];
    const same = all.filter((id) => this.#asked.get(id) === server);
    if (same.length >= ASKED_OF_SERVER) return same[0] ?? null;
    return all.length >= ASKED_AT_ONCE ? (all[0] ?? null) : null;
  }
}
