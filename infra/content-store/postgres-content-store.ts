/** The `ContentStore` port on Postgres: chunks of AES-256-GCM, each in its own row, so that no content is held whole. */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import {
  ContentAltered,
  type ContentStore,
  type NewContent,
  type StoredContent,
} from '../../commands/ports/content-store.ts';
import { notFound } from '../../commands/values/errors.ts';
import type { Clock, Log, Sql } from '../../commands/ports/ports.ts';
import { erasable, type HoldsKnown } from './held-content.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import { openBox } from '../security/sealed-box.ts';
import {
  CHUNK_BYTES,
  chunkContext,
  ContentWriting,
  factsContext,
  keyContext,
  WRITES_AT_ONCE,
  type WritingParts,
} from './content-writing.ts';

const Facts = z.object({
  filename: z.string().nullable(),
  content_type: z.string(),
  size: z.int(),
  sha256: z.string(),
});

const FIND = {
  name: 'content_find',
  text: `
    select c.*, k.sealed as chunk from vault.content c
    left join vault.content_chunk k on k.content_id = c.id and k.number = $2::int
    where c.id = $1`,
};

const KEEP = {
  name: 'content_keep',
  text: `
    update vault.content set expires_at = null
    where id = any($1::text[]) and sealed_facts is not null returning id`,
};

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
  readonly #parts: WritingParts;

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
    this.#parts = { ...parts, slots: new Semaphore(WRITES_AT_ONCE) };
  }

  async put(content: NewContent, bytes: AsyncIterable<Uint8Array>): Promise<StoredContent> {
    const writing = new ContentWriting(this.#parts, content);
    try {
      return await writing.write(bytes);
    } catch (error) {
      if (await writing.mayHaveLeftRow()) await this.#giveUp(content.id);
      throw error;
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
    const rows = await this.#sql.query<{ id: string }>(KEEP, [ids]);
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
    const [row] = await this.#sql.query<Row>(FIND, [id, chunk]);
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
