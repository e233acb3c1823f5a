/** A content store in memory, whole contents at once. */
import { createHash } from 'node:crypto';
import { inOnePiece } from '../../../commands/drafts/draft-body.ts';
import type { ContentStore, NewContent, StoredContent } from '../../../commands/ports/content-store.ts';
import { notFound } from '../../../commands/values/errors.ts';

interface Stored {
  readonly facts: StoredContent;
  readonly bytes: Uint8Array;
  expiresAt: Date | null;
}

export class MemoryContentStore implements ContentStore {
  readonly #contents = new Map<string, Stored>();

  /** All stored contents. */
  get stored(): readonly StoredContent[] {
    return [...this.#contents.values()].map(({ facts }) => facts);
  }

  async put(content: NewContent, source: AsyncIterable<Uint8Array>): Promise<StoredContent> {
    const pieces: Uint8Array[] = [];
    for await (const piece of source) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const { id, kind, owner, filename, contentType, expiresAt } = content;
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const facts = { id, kind, owner, filename, contentType, size: bytes.length, sha256 };
    this.#contents.set(id, { facts, bytes, expiresAt });
    return facts;
  }

  /** Flips one bit of a content, to simulate tampering. */
  alter(id: string, at = 0): void {
    const content = this.#contents.get(id);
    if (!content) throw new Error(`no content ${id}`);
    const bytes = Uint8Array.from(content.bytes);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    this.#contents.set(id, { ...content, bytes });
  }

  /** Replaces a content with other bytes and the facts that belong to them. */
  async replace(id: string, text: string): Promise<void> {
    const content = this.#contents.get(id);
    if (!content) throw new Error(`no content ${id}`);
    const { facts, expiresAt } = content;
    await this.put({ ...facts, expiresAt, maxBytes: text.length }, inOnePiece(Buffer.from(text)));
  }

  describe(id: string): Promise<StoredContent | null> {
    return Promise.resolve(this.#contents.get(id)?.facts ?? null);
  }

  async *open(id: string, from = 0): AsyncGenerator<Uint8Array, void, undefined> {
    const content = this.#contents.get(id);
    if (!content) throw notFound('content');
    yield await Promise.resolve(content.bytes.subarray(from));
  }

  keep(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const kept = ids.flatMap((id) => this.#contents.get(id) ?? []);
    for (const content of kept) content.expiresAt = null;
    return Promise.resolve(new Set(kept.map(({ facts }) => facts.id)));
  }

  erase(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#contents.delete(id);
    return Promise.resolve();
  }

  eraseDraft(draftId: string): Promise<void> {
    return this.#eraseWhere(({ owner }) => owner.draftId === draftId);
  }

  eraseMailbox(mailboxId: string): Promise<void> {
    return this.#eraseWhere(({ owner }) => owner.mailboxId === mailboxId);
  }

  async eraseExpired(now: Date): Promise<number> {
    const expired = [...this.#contents.values()].filter(
      ({ expiresAt }) => expiresAt !== null && expiresAt <= now,
    );
    await this.erase(expired.map(({ facts }) => facts.id));
    return expired.length;
  }

  #eraseWhere(isIt: (facts: StoredContent) => boolean): Promise<void> {
    return this.erase(this.stored.filter(isIt).map(({ id }) => id));
  }
}
