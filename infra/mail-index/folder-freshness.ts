/** Whether the mirrors of folders equal the mail server now: at most one poll (STATUS) per folder and second. */
import type { FolderRef } from '../../commands/mail/message.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import type { FolderState } from './folder-mirror.ts';

const POLL_EVERY_MS = 1_000;
/** Folders of all mailboxes; polls of others are forgotten, which costs a round trip. */
const MOST_KEPT = 50_000;

/** Reads the status of folders from the server; null for one that is gone. */
export type PollFolders = (folders: readonly FolderRef[]) => Promise<readonly (FolderCounts | null)[]>;

interface Poll {
  readonly at: number;
  readonly counts: Promise<FolderCounts | null>;
  /** A mirror was found behind it, and its worker told. */
  isTold: boolean;
}

/** The mirrors of these folders are behind the server. Called at most once per folder and second. */
export type OnOutdated = (mailboxId: string, folders: readonly number[]) => void;

export class FolderFreshness {
  readonly #polls = new BoundedMap<string, Poll>(MOST_KEPT);
  readonly #now: () => number;
  readonly #onOutdated: OnOutdated;

  constructor(now: () => number = () => performance.now(), onOutdated: OnOutdated = () => undefined) {
    this.#now = now;
    this.#onOutdated = onOutdated;
  }

  /** True when every state equals the server's, or is newer than the poll. Throws what `poll` throws. */
  async areCurrent(
    mailboxId: string,
    folders: readonly FolderRef[],
    states: readonly FolderState[],
    poll: PollFolders,
  ): Promise<boolean> {
    const asked = states.flatMap((state) => {
      const folder = folders.find(({ number }) => number === state.folderNumber);
      return folder === undefined ? [] : [{ state, folder, key: keyOf(mailboxId, folder.number) }];
    });
    const due = asked.filter(({ key }) => !this.#isYoung(key));
    if (due.length > 0) {
      const all = poll(due.map(({ folder }) => folder));
      for (const [index, { key }] of due.entries()) this.#keep(key, all, index);
    }
    const seen = await Promise.all(
      asked.map(async ({ key }) => (await this.#polls.get(key)?.counts) ?? null),
    );
    const outdated = asked.filter(({ state }, index) => !isTrueOf(state, seen[index] ?? null));
    this.#tell(
      mailboxId,
      outdated.map(({ folder }) => folder),
    );
    return outdated.length === 0;
  }

  #tell(mailboxId: string, outdated: readonly FolderRef[]): void {
    const untold = outdated.flatMap(({ number }) => {
      const poll = this.#polls.get(keyOf(mailboxId, number));
      if (poll === undefined || poll.isTold) return [];
      poll.isTold = true;
      return [number];
    });
    if (untold.length > 0) this.#onOutdated(mailboxId, untold);
  }

  #isYoung(key: string): boolean {
    const known = this.#polls.get(key);
    return known !== undefined && this.#now() - known.at < POLL_EVERY_MS;
  }

  #keep(key: string, all: Promise<readonly (FolderCounts | null)[]>, index: number): void {
    const poll: Poll = {
      at: this.#now(),
      counts: all.then((counts) => counts[index] ?? null),
      isTold: false,
    };
    this.#polls.set(key, poll);
    // Requests waiting for it get the error; later ones must not.
    poll.counts.catch(() => {
      if (this.#polls.get(key) === poll) this.#polls.delete(key);
    });
  }
}

const keyOf = (mailboxId: string, folder: number): string => `${mailboxId}/${String(folder)}`;

/**
 * A mirror that is ahead of the poll was true at a later time. An own move takes it ahead by UIDs only: without the changes
 * that others made before, which the poll counted.
 */
export function isTrueOf(state: FolderState, counts: FolderCounts | null): boolean {
  if (counts?.uidValidity !== state.uidValidity) return false;
  const { highestModseq: ours } = state;
  const { highestModseq: theirs } = counts;
  if (ours !== null && theirs !== null && ours < theirs) return false;
  if (state.uidNext !== counts.uidNext) return state.uidNext > counts.uidNext;
  if (ours !== null && theirs !== null && ours > theirs) return true;
  return state.messages === counts.messages;
}

export interface FolderCounts {
  readonly uidValidity: number;
  readonly uidNext: number;
  readonly messages: number;
  /** Null where the server has no CONDSTORE (RFC 7162): changed flags do not show. */
  readonly highestModseq: bigint | null;
}
