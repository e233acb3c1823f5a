/** Whether copies of folders are what the mail server has now: one look at most per folder and second (STATUS). */
import type { FolderRef } from '../../commands/mail/message.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import type { FolderState } from './folder-mirror.ts';

const LOOK_EVERY_MS = 1_000;
/** Folders of all mailboxes; the looks of others are forgotten, which costs a round trip. */
const MOST_KEPT = 50_000;

/** Asks the server about folders; null for one that is gone. */
export type LookAtFolders = (folders: readonly FolderRef[]) => Promise<readonly (FolderCounts | null)[]>;

interface Look {
  readonly at: number;
  readonly counts: Promise<FolderCounts | null>;
}

export class FolderFreshness {
  readonly #looks = new BoundedMap<string, Look>(MOST_KEPT);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True when every state is what the server has, or newer than the look. Throws what `look` throws. */
  async areCurrent(
    mailboxId: string,
    folders: readonly FolderRef[],
    states: readonly FolderState[],
    look: LookAtFolders,
  ): Promise<boolean> {
    const asked = states.flatMap((state) => {
      const folder = folders.find(({ number }) => number === state.folderNumber);
      return folder === undefined ? [] : [{ state, folder, key: `${mailboxId}/${String(folder.number)}` }];
    });
    const due = asked.filter(({ key }) => !this.#isYoung(key));
    if (due.length > 0) {
      const all = look(due.map(({ folder }) => folder));
      for (const [index, { key }] of due.entries()) this.#keep(key, all, index);
    }
    const seen = await Promise.all(
      asked.map(async ({ key }) => (await this.#looks.get(key)?.counts) ?? null),
    );
    return asked.every(({ state }, index) => isTrueOf(state, seen[index] ?? null));
  }

  #isYoung(key: string): boolean {
    const known = this.#looks.get(key);
    return known !== undefined && this.#now() - known.at < LOOK_EVERY_MS;
  }

  #keep(key: string, all: Promise<readonly (FolderCounts | null)[]>, index: number): void {
    const look: Look = { at: this.#now(), counts: all.then((counts) => counts[index] ?? null) };
    this.#looks.set(key, look);
    // Who waits for it meets the error; nobody else is to be answered with it.
    look.counts.catch(() => {
      if (this.#looks.get(key) === look) this.#looks.delete(key);
    });
  }
}

/** A copy ahead of the look was true later than it. */
export function isTrueOf(state: FolderState, counts: FolderCounts | null): boolean {
  if (counts?.uidValidity !== state.uidValidity) return false;
  if (state.uidNext !== counts.uidNext) return state.uidNext > counts.uidNext;
  const { highestModseq: ours } = state;
  const { highestModseq: theirs } = counts;
  if (ours !== null && theirs !== null && ours !== theirs) return ours > theirs;
  return state.messages === counts.messages;
}

export interface FolderCounts {
  readonly uidValidity: number;
  readonly uidNext: number;
  readonly messages: number;
  /** Null where the server has no CONDSTORE (RFC 7162): changed flags do not show. */
  readonly highestModseq: bigint | null;
}
