/** What the server has reported about the folder that a connection has open. */
import type { ImapFlow } from 'imapflow';

export class FolderReports {
  /** A counter, because a message that arrives during a scan may be missing in its answer. */
  #arrivals = 0;
  #scannedArrivals = 0;
  /** A scan on this connection has seen the UIDs below this one. */
  #scannedTo = 0;
  /** An answer in the open folder has contained the UIDs below this one. */
  #answeredTo = 0;
  #removals = 0;

  constructor(client: ImapFlow) {
    client.on('mailboxOpen', () => {
      this.#scannedArrivals = this.#arrivals;
      this.#scannedTo = 0;
      this.#answeredTo = 0;
    });
    client.on('exists', ({ count, prevCount }) => {
      if (count > prevCount) this.#arrivals += 1;
    });
    client.on('expunge', () => {
      this.#removals += 1;
    });
  }

  /** How often messages arrived; read this before a scan and pass it to `markScanned` after it. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** How often messages were reported as gone. */
  get removals(): number {
    return this.#removals;
  }

  /** UIDNEXT, which the server gave when it opened the folder; null since messages with unknown UIDs arrived. */
  uidNext(whenOpened: number | undefined): number | null {
    const isScanned = this.#arrivals === this.#scannedArrivals;
    return isScanned && whenOpened ? Math.max(whenOpened, this.#scannedTo) : null;
  }

  /** True when messages as new as these were reported. `uidNext`: when the folder was opened. */
  knowsOf(uids: readonly number[], uidNext: number): boolean {
    return Math.max(...uids) < Math.max(uidNext, this.#answeredTo);
  }

  /** Records that an answer contained these. */
  noteAnswered(uids: Iterable<number>): void {
    for (const uid of uids) this.#answeredTo = Math.max(this.#answeredTo, uid + 1);
  }

  /** Everything that had arrived by then was scanned: every UID below `uidNext` is known, or its message is gone. */
  markScanned(arrivals: number, uidNext: number): void {
    this.#scannedArrivals = arrivals;
    this.#scannedTo = Math.max(this.#scannedTo, uidNext);
  }
}
