/** The `ContentStore` port on Postgres: chunks of AES-256-GCM, each in its own row, so that no content is held whole. */
import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  ContentAltered,
  type ContentStore,
  type NewContent,
  type StoredContent,
} from '../../commands/ports/content-store.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import type { Clock, Log, Sql } from '../../commands/ports/ports.ts';
import { erasable, type HoldsKnown } from './held-content.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import { openBox, sealBox } from '../security/sealed-box.ts';
import { inChunks, limited } from './in-chunks.ts';

/** Few rows for a large content, little memory for many at once. */
export const CHUNK_BYTES = 128 * 1024;
/**
 * Full chunks sealed and written at once, of all contents together. A chunk on its way takes five times its size in copies; and
 * uploads leave connections to other requests.
 */
const WRITES_AT_ONCE = 4;
const WRITE_WITHIN_MS = 10_000;
/** A content whose writer died is deleted after this; longer than any upload takes. */
const UNFINISHED_FOR_MS = 24 * 3_600_000;

const Facts = z.object({
  filename: z.string().nullable(),
  content_type: z.string(),
  size: z.int(),
  sha256: z.string(),
});

const keyContext = (id: string): string => `content_key ${id}`;
const factsContext = (id: string): string => `content_facts ${id}`;
/** Names place and content: chunks cannot be swapped, omitted in the middle or moved to another content. */
const chunkContext = (id: string, number: number): string => `content_chunk ${id} ${String(number)}`;

interface Row extends Record<string, unknown> {
  readonly id: string;
  readonly kind: StoredContent['kind'];
  readonly mailbox_id: string;
  readonly draft_id: string;
  readonly wrapped: Buffer;
  readonly sealed_facts: Buffer | null;
  /** Null unless it was asked for and exists. */
  readonly chunk: Buffer | null;
}

interface Opened {
  readonly key: KeyObject;
  readonly content: StoredContent;
  /** The chunk that was asked for, sealed; null when it is missing. */
  readonly chunk: Buffer | null;
}

export class PostgresContentStore implements ContentStore {
  readonly #sql: Sql;
  readonly #masterKey: KeyObject;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #directory: HoldsKnown;
  readonly #writes = new Semaphore(WRITES_AT_ONCE);

  constructor(parts: {
    readonly sql: Sql;
    readonly masterKey: KeyObject;
    readonly clock: Clock;
    readonly log: Log;
    /** For legal holds. */
    readonly directory: HoldsKnown;
  }) {
    this.#sql = parts.sql;
    this.#masterKey = parts.masterKey;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#directory = parts.directory;
  }

  async put(content: NewContent, bytes: AsyncIterable<Uint8Array>): Promise<StoredContent> {
    const key = createSecretKey(randomBytes(32));
    // The first bytes are awaited meanwhile. An erasure of the draft finds the row, however slow they are.
    const begun = this.#begin(key, content);
    begun.catch(() => undefined);
    try {
      return await this.#write({ key, content, begun }, bytes);
    } catch (error) {
      const [row] = await Promise.allSettled([begun]);
      if (row.status === 'fulfilled') await this.#giveUp(content.id);
      throw error;
    }
  }

  async #begin(key: KeyObject, { id, kind, owner }: NewContent): Promise<void> {
    await this.#sql.query(
      `insert into vault.content (id, kind, mailbox_id, draft_id, wrapped, expires_at) values ($1, $2, $3, $4, $5, $6)`,
      [
        id,
        kind,
        owner.mailboxId,
        owner.draftId,
        sealBox(this.#masterKey, key.export(), keyContext(id)),
        this.#sweepAt(),
      ],
    );
  }

  async #write(
    { key, content, begun }: { key: KeyObject; content: NewContent; begun: Promise<void> },
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<StoredContent> {
    const { id, kind, owner, filename, contentType, maxBytes, expiresAt } = content;
    const hash = createHash('sha256');
    let size = 0;
    let number = 0;
    let last: Buffer | null = null;
    for await (const chunk of inChunks(limited(bytes, maxBytes), CHUNK_BYTES)) {
      hash.update(chunk);
      size += chunk.length;
      await begun;
      // Only the end of the content is shorter.
      if (chunk.length < CHUNK_BYTES) last = sealBox(key, chunk, chunkContext(id, number));
      else await this.#addChunk(key, { id, number }, chunk);
      number += 1;
    }
    await begun;
    const sha256 = hash.digest('hex');
    const facts = JSON.stringify({ filename, content_type: contentType, size, sha256 });
    const sealedFacts = sealBox(key, Buffer.from(facts), factsContext(id));
    const finished = await this.#sql.query(
      `with finished as (update vault.content set sealed_facts = $2, expires_at = $3 where id = $1 returning id),
         added as (insert into vault.content_chunk (content_id, number, sealed)
                   select id, $4::int, $5::bytea from finished where $5::bytea is not null)
       select 1 from finished`,
      [id, sealedFacts, expiresAt, number - 1, last],
    );
    if (finished.length === 0) throw notFound('draft');
    return { id, kind, owner, filename, contentType, size, sha256 };
  }

  async #addChunk(
    key: KeyObject,
    { id, number }: { readonly id: string; readonly number: number },
    chunk: Uint8Array,
  ): Promise<void> {
    if (!(await this.#writes.acquire(WRITE_WITHIN_MS))) throw tooBusy();
    try {
      const added = await this.#sql.query(
        `insert into vault.content_chunk (content_id, number, sealed)
         select id, $2, $3 from vault.content where id = $1 for key share returning 1`,
        [id, number, sealBox(key, chunk, chunkContext(id, number))],
      );
      // Its draft was erased during the upload.
      if (added.length === 0) throw notFound('draft');
    } finally {
      this.#writes.release();
    }
  }

  async describe(id: string): Promise<StoredContent | null> {
    return (await this.#find(id, null))?.content ?? null;
  }

  async *open(id: string, from = 0): AsyncGenerator<Uint8Array, void, undefined> {
    const first = Math.floor(from / CHUNK_BYTES);
    const opened = await this.#find(id, first);
    if (opened === null) throw notFound('content');
    const { key, content } = opened;
    for (let number = first; number * CHUNK_BYTES < content.size; number += 1) {
      const sealed = number === first ? opened.chunk : await this.#chunkOf(id, number);
      if (sealed === null) throw notFound('content');
      const chunk = openBox(key, sealed, chunkContext(id, number));
      if (chunk === null) throw new ContentAltered(id);
      const start = number * CHUNK_BYTES;
      yield from > start ? chunk.subarray(from - start) : chunk;
    }
  }

  async #chunkOf(id: string, number: number): Promise<Buffer | null> {
    const [row] = await this.#sql.query<{ sealed: Buffer }>(
      'select sealed from vault.content_chunk where content_id = $1 and number = $2',
      [id, number],
    );
    return row?.sealed ?? null;
  }

  async keep(ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#sql.query<{ id: string }>(
      `update vault.content set expires_at = null
       where id = any($1::text[]) and sealed_facts is not null returning id`,
      [ids],
    );
    return new Set(rows.map(({ id }) => id));
  }

  async erase(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#eraseWhere('id = any($1::text[])', ids);
  }

  async eraseDraft(draftId: string): Promise<void> {
    await this.#eraseWhere('draft_id = $1', draftId);
  }

  async eraseMailbox(mailboxId: string): Promise<void> {
    await this.#eraseWhere('mailbox_id = $1', mailboxId);
    await this.#sql.query('delete from vault.webhook_payload where mailbox_id = $1', [mailboxId]);
  }

  async eraseExpired(now: Date): Promise<number> {
    return await this.#eraseWhere('expires_at <= $1', now);
  }

  /**
   * Returns how many were erased. Chunks go second, so that one written at that moment is found too. What a legal hold
   * keeps expires instead, and is erased with the expired when the hold is released.
   */
  async #eraseWhere(condition: string, value: unknown): Promise<number> {
    await this.#directory.untilCurrent();
    return await this.#sql.transaction(async (sql) => {
      // Known once there is a connection, directly before the deletion.
      const isCurrent = await this.#directory.untilCurrent();
      const { condition: free, parameters, mayKeep } = erasable(this.#directory.state, isCurrent);
      const gone = await sql.query<{ id: string }>(
        `delete from vault.content as c where ${condition} and ${free} returning id`,
        [value, ...parameters],
      );
      const ids = gone.map(({ id }) => id);
      if (ids.length > 0)
        await sql.query('delete from vault.content_chunk where content_id = any($1::text[])', [ids]);
      if (mayKeep)
        await sql.query(
          `update vault.content set expires_at = $2 where ${condition} and (expires_at is null or expires_at > $2)`,
          [value, this.#clock.now()],
        );
      return ids.length;
    });
  }

  #sweepAt(): Date {
    return new Date(this.#clock.now().getTime() + UNFINISHED_FOR_MS);
  }

  /** What cannot be deleted now expires; the first error is the one to report. */
  async #giveUp(id: string): Promise<void> {
    try {
      await this.erase([id]);
    } catch (error) {
      this.#log.warn('content store: unfinished content not erased', {
        content_id: id,
        error: String(error),
      });
    }
  }

  /** The content, with one of its chunks if wanted. */
  async #find(id: string, chunk: number | null): Promise<Opened | null> {
    const [row] = await this.#sql.query<Row>(
      `select c.*, k.sealed as chunk from vault.content c
       left join vault.content_chunk k on k.content_id = c.id and k.number = $2::int
       where c.id = $1`,
      [id, chunk],
    );
    if (row?.sealed_facts == null) return null;
    const unwrapped = openBox(this.#masterKey, row.wrapped, keyContext(id));
    if (unwrapped === null) throw new Error(`content ${id} is not sealed under this key file`);
    const key = createSecretKey(unwrapped);
    const sealed = openBox(key, row.sealed_facts, factsContext(id));
    if (sealed === null) throw new ContentAltered(id);
    const facts = Facts.parse(JSON.parse(sealed.toString()));
    const owner = { mailboxId: row.mailbox_id, draftId: row.draft_id };
    const { filename, content_type: contentType, size, sha256 } = facts;
    const stored = { id, kind: row.kind, owner, filename, contentType, size, sha256 };
    return { key, content: stored, chunk: row.chunk };
  }
}

const tooBusy = (): GatewayError =>
  new GatewayError('store_unavailable', 'The database takes too long to store contents; try again.');

/** Drafts discarded since then that still have content. */
export async function listLeftContent(sql: Sql, since: Date, limit: number): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    `select d.id from read.draft d
     where d.status = 'discarded' and d.updated_at > $1
       and exists (select 1 from vault.content c where c.draft_id = d.id) limit $2`,
    [since, limit],
  );
  return rows.map(({ id }) => id);
}
