/**
 * Bodies, uploads and frozen messages. They are too large and too personal for the log, so they are stored
 * encrypted beside it and streamed in and out. Erasing a draft or a mailbox includes erasing its content.
 */

export interface ContentOwner {
  readonly mailboxId: string;
  readonly draftId: string;
}

/** `upload` = sent by a caller, who may name it; the others belong to the gateway. */
type ContentKind = 'upload' | 'body' | 'mime';

export interface NewContent {
  /** Chosen by the caller of `put`; never used before. */
  readonly id: string;
  readonly kind: ContentKind;
  readonly owner: ContentOwner;
  readonly filename: string | null;
  readonly contentType: string;
  /** Larger content is refused. */
  readonly maxBytes: number;
  /** Erased after this unless `keep` was called; null = does not expire. */
  readonly expiresAt: Date | null;
}

export interface StoredContent extends Pick<
  NewContent,
  'id' | 'kind' | 'owner' | 'filename' | 'contentType'
> {
  /** Bytes. */
  readonly size: number;
  /** Of the bytes, in hex. */
  readonly sha256: string;
}

export interface ContentStore {
  /**
   * Stores bytes as they arrive, one chunk in memory at a time. Throws `payload_too_large`,
   * `store_unavailable` and what the source throws; then nothing is stored.
   */
  put(content: NewContent, bytes: AsyncIterable<Uint8Array>): Promise<StoredContent>;
  /** Null when the content was never completely stored, or was erased. */
  describe(id: string): Promise<StoredContent | null>;
  /**
   * The bytes from an offset on, read as fast as they are consumed. Throws `not_found` when the content is
   * gone, and `ContentAltered`.
   */
  open(id: string, from?: number): AsyncIterable<Uint8Array>;
  /** Removes the expiry of the contents that exist, and returns their ids. */
  keep(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Of every erasure: what a legal hold keeps expires instead, and is erased once the hold is released. */
  erase(ids: readonly string[]): Promise<void>;
  eraseDraft(draftId: string): Promise<void>;
  /** Also the summaries of its messages that webhooks sent. */
  eraseMailbox(mailboxId: string): Promise<void>;
  /** Erases the content that was not kept in time, and returns the number. */
  eraseExpired(now: Date): Promise<number>;
}

/** The stored bytes are not the ones that were put there. */
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
