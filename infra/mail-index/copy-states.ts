/** The state of copies as a statement answers it beside its page. */
import type { FolderState } from './folder-mirror.ts';

export interface StateRow extends Record<string, unknown> {
  readonly folder_number: number;
  readonly uid_validity: string;
  readonly uid_next: string;
  readonly indexed: string;
  readonly highest_modseq: string | null;
  readonly feed_position: string | null;
  readonly version: string;
  readonly threads_version: string | null;
  readonly usable: boolean;
  readonly vouched: boolean;
}

/** The copies cannot answer now: one is missing, not complete or not trusted. */
export class CopyNotReady extends Error {}

/** One state per folder. Throws `CopyNotReady` unless all of `count` copies may answer. */
export function statesOf(rows: readonly StateRow[], count: number): readonly FolderState[] {
  const states = new Map<number, FolderState>();
  for (const row of rows) {
    if (!row.usable) throw new CopyNotReady();
    if (!states.has(row.folder_number)) states.set(row.folder_number, stateOf(row));
  }
  if (states.size < count) throw new CopyNotReady();
  return [...states.values()];
}

const stateOf = (row: StateRow): FolderState => ({
  folderNumber: row.folder_number,
  uidValidity: Number(row.uid_validity),
  uidNext: Number(row.uid_next),
  messages: Number(row.indexed),
  highestModseq: row.highest_modseq === null ? null : BigInt(row.highest_modseq),
  feedPosition: row.feed_position === null ? null : BigInt(row.feed_position),
  vouched: row.vouched,
  version: row.version,
  threadsVersion: row.threads_version,
});
