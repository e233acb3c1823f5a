/** One content on its way into `vault.content`: sealed in chunks, and in one statement where it is short and comes at once. */
import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { NewContent, StoredContent } from '../../commands/ports/content-store.ts';
import type { Clock, Sql } from '../../commands/ports/ports.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import type { Semaphore } from '../concurrency/semaphore.ts';
import { sealBox } from '../security/sealed-box.ts';
import { inChunks, limited } from './in-chunks.ts';

/** Few rows for a large content, little memory for many at once. */
export const CHUNK_BYTES = 128 * 1024;
/**
 * Full chunks sealed and written at once, of all contents together. A chunk on its way takes five times its size in copies; and
 * uploads leave connections to other requests.
 */
export const WRITES_AT_ONCE = 4;
const WRITE_WITHIN_MS = 10_000;
/** A content whose writer died is deleted after this; longer than any upload takes. */
const UNFINISHED_FOR_MS = 24 * 3_600_000;
/** The row of a content that takes longer is made meanwhile: an erasure of its draft finds it, however slow the content is. */
const ROW_AFTER_MS = 50;

export const keyContext = (id: string): string => `content_key ${id}`;
export const factsContext = (id: string): string => `content_facts ${id}`;
/** Names place and content: chunks cannot be swapped, omitted in the middle or moved to another content. */
export const chunkContext = (id: string, number: number): string => `content_chunk ${id} ${String(number)}`;

const BEGIN = {
  name: 'content_begin',
  text: `insert into vault.content (id, kind, mailbox_id, draft_id, wrapped, expires_at) values ($1, $2, $3, $4, $5, $6)`,
};

const FINISH = {
  name: 'content_finish',
  text: `
    with finished as (update vault.content set sealed_facts = $2, expires_at = $3 where id = $1 returning id),
    added as (
      insert into vault.content_chunk (content_id, number, sealed)
      select id, $4::int, $5::bytea from finished where $5::bytea is not null
    )
    select 1 from finished`,
};

/** Begins and finishes a content without a full chunk. */
const WHOLE = {
  name: 'content_whole',
  text: `
    with made as (
      insert into vault.content (id, kind, mailbox_id, draft_id, wrapped, sealed_facts, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7) returning id
    )
    insert into vault.content_chunk (content_id, number, sealed)
    select id, $8::int, $9::bytea from made where $9::bytea is not null`,
};

export interface WritingParts {
  readonly sql: Sql;
  readonly masterKey: KeyObject;
  readonly clock: Clock;
  /** Bounds the full chunks of all contents. */
  readonly slots: Semaphore;
}

/** What follows the last full chunk. */
interface End {
  readonly size: number;
  readonly sha256: string;
  readonly number: number;
  /** Sealed; null when the last chunk was full. */
  readonly chunk: Buffer | null;
}

export class ContentWriting {
  readonly #parts: WritingParts;
  readonly #content: NewContent;
  readonly #key = createSecretKey(randomBytes(32));
  #row: Promise<unknown> | null = null;
  /** True once all of it was sent in one statement. */
  #isWhole = false;

  constructor(parts: WritingParts, content: NewContent) {
    this.#parts = parts;
    this.#content = content;
  }

  /** Throws what the source and the store throw; `not_found` when the draft was erased meanwhile. */
  async write(bytes: AsyncIterable<Uint8Array>): Promise<StoredContent> {
    // A failure is reported by the write.
    const begin = (): void => void this.#begin().catch(() => undefined);
    const slow = setTimeout(begin, ROW_AFTER_MS);
    // One that does not expire would stay for ever if an erasure did not find its row.
    if (this.#content.expiresAt === null) begin();
    const end = await this.#writeChunks(bytes).finally(() => {
      clearTimeout(slow);
    });
    await this.#finish(end);
    const { id, kind, owner, filename, contentType } = this.#content;
    return { id, kind, owner, filename, contentType, size: end.size, sha256: end.sha256 };
  }

  /** Of a write that failed. */
  async mayHaveLeftRow(): Promise<boolean> {
    if (this.#row === null) return this.#isWhole;
    const [row] = await Promise.allSettled([this.#row]);
    return row.status === 'fulfilled';
  }

  async #writeChunks(bytes: AsyncIterable<Uint8Array>): Promise<End> {
    const { id, maxBytes } = this.#content;
    const hash = createHash('sha256');
    let size = 0;
    let count = 0;
    let last: Buffer | null = null;
    for await (const chunk of inChunks(limited(bytes, maxBytes), CHUNK_BYTES)) {
      hash.update(chunk);
      size += chunk.length;
      // Only the end of the content is shorter.
      if (chunk.length < CHUNK_BYTES) last = sealBox(this.#key, chunk, chunkContext(id, count));
      else await this.#addChunk(count, chunk);
      count += 1;
    }
    return { size, sha256: hash.digest('hex'), number: count - 1, chunk: last };
  }

  async #addChunk(number: number, chunk: Uint8Array): Promise<void> {
    const { id } = this.#content;
    const { sql, slots } = this.#parts;
    await this.#begin();
    if (!(await slots.acquire(WRITE_WITHIN_MS))) throw tooBusy();
    try {
      const added = await sql.query(
        `insert into vault.content_chunk (content_id, number, sealed)
         select id, $2, $3 from vault.content where id = $1 for key share returning 1`,
        [id, number, sealBox(this.#key, chunk, chunkContext(id, number))],
      );
      // Its draft was erased during the upload.
      if (added.length === 0) throw notFound('draft');
    } finally {
      slots.release();
    }
  }

  async #finish({ size, sha256, number, chunk }: End): Promise<void> {
    const { id, filename, contentType, expiresAt } = this.#content;
    const { sql } = this.#parts;
    const facts = JSON.stringify({ filename, content_type: contentType, size, sha256 });
    const sealed = sealBox(this.#key, Buffer.from(facts), factsContext(id));
    const ending = [sealed, expiresAt, number, chunk];
    if (this.#row === null) {
      this.#isWhole = true;
      await sql.query(WHOLE, [...this.#columns(), ...ending]);
      return;
    }
    await this.#row;
    const finished = await sql.query(FINISH, [id, ...ending]);
    if (finished.length === 0) throw notFound('draft');
  }

  /** Makes the row, once. It expires unless the content is finished. */
  #begin(): Promise<unknown> {
    const { sql, clock } = this.#parts;
    const expiresAt = new Date(clock.now().getTime() + UNFINISHED_FOR_MS);
    this.#row ??= sql.query(BEGIN, [...this.#columns(), expiresAt]);
    return this.#row;
  }

  #columns(): readonly unknown[] {
    const { id, kind, owner } = this.#content;
    const wrapped = sealBox(this.#parts.masterKey, this.#key.export(), keyContext(id));
    return [id, kind, owner.mailboxId, owner.draftId, wrapped];
  }
}

const tooBusy = (): GatewayError =>
  new GatewayError('store_unavailable', 'The database takes too long to store contents; try again.');
