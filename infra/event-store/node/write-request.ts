/** Write requests of callers, and their outcomes. */
import type { ProposedRecord, StoredRecord } from './stored-record.ts';

export type Expectation = number | 'no-stream' | 'any' | 'stream-exists';

/** Why an append or delete was refused. Wire formats: `call-errors.ts` and `batch-append-call.ts`. */
export type Refusal =
  | { readonly kind: 'wrong-version'; readonly expected: Expectation; readonly actual: number }
  | { readonly kind: 'stream-deleted' }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'bad-request'; readonly message: string }
  | { readonly kind: 'missing-property' }
  | { readonly kind: 'deadline-passed' }
  | { readonly kind: 'no-space' }
  | { readonly kind: 'not-ready' };

export interface Written {
  readonly kind: 'written';
  /** Revision of the last event; -1 when the stream has none. */
  readonly revision: number;
  /** Null only for the repeat of an append whose last event is now hidden by a soft delete or metadata. */
  readonly position: number | null;
}

export type Outcome = Written | Refusal;

export interface WriteRequest {
  /** A delete hides the stream until the next append to it; a tombstone ends it permanently. */
  readonly action: 'append' | 'delete' | 'tombstone';
  readonly stream: string;
  readonly expected: Expectation;
  readonly records: readonly ProposedRecord[];
  /** Milliseconds since the Unix epoch; nothing is written after that. */
  readonly expiresAtMs: number;
  /** Called exactly once: after the commit, or with a refusal. */
  settle(outcome: Outcome): void;
}

/** Records to write to one stream from a revision. */
export interface PlannedWrite {
  readonly stream: string;
  readonly firstRevision: number;
  readonly records: readonly ProposedRecord[];
}

export type Decision =
  | { readonly kind: 'write'; readonly writes: readonly PlannedWrite[] }
  /** Nothing to write: already stored, or an empty request. */
  | { readonly kind: 'repeat'; readonly outcome: Outcome };

/** The fields of a stored record used for idempotency. */
export type KnownRecord = Pick<StoredRecord, 'id' | 'revision' | 'position' | 'stream' | 'createdMs'>;
