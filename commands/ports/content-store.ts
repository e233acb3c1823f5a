/**
 * Bodies, uploads and frozen messages: too large and too personal for the log, so they lie encrypted beside it, streamed
 * in and out piece by piece. Whoever erases a draft or a mailbox erases its content.
 */

export interface ContentOwner {
  readonly mailboxId: string;
  readonly draftId: string;
}

/** `upload` = handed in by a caller, who may name it; the others are the gateway's own. */
export type ContentKind = 'upload' | 'body' | 'mime';

export interface NewContent {
  /** Chosen by the caller of `put`; never used before. */
  readonly id: string;
  readonly kind: ContentKind;
  readonly owner: ContentOwner;
  readonly filename: string | null;
  readonly contentType: string;
  /** More is refused. */
  readonly maxBytes: number;
  /** Erased after this unless `keep` was called; null = kept. */
  readonly expiresAt: Date | null;
}

export interface StoredContent extends Pick<
  NewContent,
  'id' | 'kind' | 'owner' | 'filename' | 'contentType'
> {
  /** Bytes. */
  readonly size: number;
  /** Of the bytes, hex. */
  readonly sha256: string;
}

export interface ContentStore {
  /**
   * Stores bytes as they come, one chunk in memory at a time. Throws `payload_too_large`, `store_unavailable` and what the
   * source throws; nothing is left of it then.
   */
  put(content: NewContent, bytes: AsyncIterable<Uint8Array>): Promise<StoredContent>;
  /** Null when there is none: never stored whole, or erased. */
  describe(id: string): Promise<StoredContent | null>;
  /**
   * The bytes from an offset on, read as fast as they are taken. Throws `not_found` when the content is gone, and
   * `ContentAltered`.
   */
  open(id: string, from?: number): AsyncIterable<Uint8Array>;
  /** Takes away the expiry of those that are there; the answer names them. */
  keep(ids: readonly string[]): Promise<ReadonlySet<string>>;
  erase(ids: readonly string[]): Promise<void>;
  eraseDraft(draftId: string): Promise<void>;
  eraseMailbox(mailboxId: string): Promise<void>;
  /** Erases what nobody kept in time; the answer counts them. */
  eraseExpired(now: Date): Promise<number>;
}

/** Stored bytes are not what was put there. */
export class ContentAltered extends Error {
  constructor(id: string) {
    super(`content ${id} was altered`);
    this.name = 'ContentAltered';
  }
}

/** A small content as text (UTF-8). Throws like `open`. */
export async function readText(store: Pick<ContentStore, 'open'>, id: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of store.open(id)) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}
