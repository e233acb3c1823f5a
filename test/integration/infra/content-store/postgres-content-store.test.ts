import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { type NewContent, readText } from '../../../../commands/ports/content-store.ts';
import { CHUNK_BYTES } from '../../../../infra/content-store/content-writing.ts';
import { PostgresContentStore } from '../../../../infra/content-store/postgres-content-store.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { directoryHolding, holdOn } from '../../../support/fakes/directory-holding.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { liveBuffers } from '../../../support/suite/live-buffers.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { eventually } from '../../../support/worlds/gateway.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';

const MIB = 1024 * 1024;

describe('the content store', function () {
  this.timeout(90_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;
  let store: PostgresContentStore;
  const clock = new ManualClock('2026-03-01T12:00:00.000Z');
  const directory = directoryHolding();
  let ids = 0;

  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
    store = new PostgresContentStore({ sql, masterKey: randomKey(), clock, log: silentLog, directory });
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  const contentOf = (change: Partial<NewContent> = {}): NewContent => {
    ids += 1;
    return {
      id: `upl_${String(ids)}`,
      kind: 'upload',
      owner: { mailboxId: 'mbx_1', draftId: 'drf_1' },
      filename: 'Geheim.pdf',
      contentType: 'application/pdf',
      maxBytes: 25 * MIB,
      expiresAt: null,
      ...change,
    };
  };
  async function* pieces(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
    for (const part of parts) yield await Promise.resolve(part);
  }
  const read = async (id: string, from?: number): Promise<Buffer> => {
    const parts: Uint8Array[] = [];
    for await (const part of store.open(id, from)) parts.push(part);
    return Buffer.concat(parts);
  };
  const count = async (table: string, id: string): Promise<number> => {
    const column = table === 'content' ? 'id' : 'content_id';
    const [row] = await sql.query(`select count(*)::int as n from vault.${table} where ${column} = $1`, [id]);
    return Number(row?.['n']);
  };

  it('writes a short content that comes at once with one statement and reads it with one', async () => {
    let statements = 0;
    const counting: Sql = {
      ...sql,
      query: (text, parameters) => {
        statements += 1;
        return sql.query(text, parameters);
      },
    };
    const counted = new PostgresContentStore({
      ...{ sql: counting, masterKey: randomKey(), clock, log: silentLog, directory },
    });
    const content = contentOf({ expiresAt: new Date(clock.now().getTime() + 60_000) });
    await counted.put(content, pieces(Buffer.from('short')));
    expect(statements).to.equal(1);
    expect(await readText(counted, content.id)).to.equal('short');
    expect(statements).to.equal(2);
    // One that does not expire has its row before its bytes: an erasure of its draft finds it.
    const kept = contentOf();
    await counted.put(kept, pieces(Buffer.from('short')));
    expect(statements).to.equal(4);
    await store.erase([content.id, kept.id]);
  });

  it('returns the stored bytes from every offset, in any chunks', async () => {
    const size = fc.integer({ min: 0, max: 3 * CHUNK_BYTES });
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 4 }), fc.nat(), async (sizes, offset) => {
        const parts = sizes.map((bytes) => randomBytes(bytes));
        const whole = Buffer.concat(parts);
        const content = contentOf();
        const stored = await store.put(content, pieces(...parts));
        expect(stored.size).to.equal(whole.length);
        expect(stored.sha256).to.equal(createHash('sha256').update(whole).digest('hex'));
        expect(await store.describe(content.id)).to.deep.equal(stored);
        const from = whole.length === 0 ? 0 : offset % (whole.length + 1);
        expect((await read(content.id, from)).equals(whole.subarray(from))).to.equal(true);
      }),
      { numRuns: 25 },
    );
  });

  it('stores neither bytes nor names in the clear', async () => {
    const content = contentOf();
    await store.put(content, pieces(Buffer.from('the secret text')));
    expect(await readText(store, content.id)).to.equal('the secret text');
    const rows = await sql.query(
      `select encode(sealed_facts, 'escape') || encode(wrapped, 'escape') || encode(sealed, 'escape') as stored
       from vault.content c join vault.content_chunk on content_id = c.id where c.id = $1`,
      [content.id],
    );
    expect(String(rows[0]?.['stored'])).not.to.match(/secret|Geheim|pdf/);
  });

  it('keeps nothing of content that was too large or interrupted', async () => {
    const large = contentOf({ maxBytes: CHUNK_BYTES });
    const tooMuch = pieces(Buffer.alloc(CHUNK_BYTES), Buffer.alloc(1));
    expect(await rejection(store.put(large, tooMuch))).to.include({ code: 'payload_too_large' });
    const broken = contentOf();
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.alloc(2 * CHUNK_BYTES));
      throw new Error('the client went away');
    }
    expect(await rejection(store.put(broken, breaking()))).to.include({ message: 'the client went away' });
    for (const { id } of [large, broken]) {
      expect(await store.describe(id)).to.equal(null);
      expect([await count('content', id), await count('content_chunk', id)]).to.deep.equal([0, 0]);
      expect(await rejection(read(id))).to.include({ code: 'not_found' });
    }
  });

  it('refuses altered, swapped or missing bytes', async () => {
    const content = contentOf();
    await store.put(content, pieces(randomBytes(3 * CHUNK_BYTES)));
    await sql.query(
      `update vault.content_chunk a set sealed = b.sealed from vault.content_chunk b
       where a.content_id = $1 and b.content_id = $1 and a.number = 0 and b.number = 1`,
      [content.id],
    );
    expect((await rejection(read(content.id))).message).to.match(/altered/);
    await sql.query('delete from vault.content_chunk where content_id = $1 and number = 2', [content.id]);
    expect(await rejection(read(content.id, 2 * CHUNK_BYTES))).to.include({ code: 'not_found' });
    const other = new PostgresContentStore({ sql, masterKey: randomKey(), clock, log: silentLog, directory });
    expect((await rejection(other.describe(content.id))).message).to.match(/not sealed under this key file/);
  });

  it('erases by expiry unless kept, by draft and by mailbox', async () => {
    const inAnHour = new Date(clock.now().getTime() + 3_600_000);
    const [unused, used] = [contentOf({ expiresAt: inAnHour }), contentOf({ expiresAt: inAnHour })];
    const drafts = contentOf({ owner: { mailboxId: 'mbx_1', draftId: 'drf_2' } });
    const mailboxes = contentOf({ owner: { mailboxId: 'mbx_2', draftId: 'drf_3' } });
    for (const content of [unused, used, drafts, mailboxes])
      await store.put(content, pieces(Buffer.from('x')));
    expect([...(await store.keep([used.id, 'upl_none']))]).to.deep.equal([used.id]);
    expect(await store.eraseExpired(clock.now())).to.equal(0);
    clock.advance(3_600_000);
    expect(await store.eraseExpired(clock.now())).to.equal(1);
    await store.eraseDraft('drf_2');
    await store.eraseMailbox('mbx_2');
    for (const { id } of [unused, drafts, mailboxes]) {
      expect(await store.describe(id), id).to.equal(null);
      expect(await count('content_chunk', id)).to.equal(0);
    }
    expect(await readText(store, used.id)).to.equal('x');
  });

  describe('under a legal hold', () => {
    const HELD = { mailboxId: 'mbx_h', draftId: 'drf_h' };
    const stored = async (owner: NewContent['owner'], change: Partial<NewContent> = {}): Promise<string> => {
      const content = contentOf({ owner, ...change });
      await store.put(content, pieces(Buffer.from('x')));
      return content.id;
    };
    const isThere = async (id: string): Promise<boolean> => (await store.describe(id)) !== null;
    afterEach(() => {
      directory.hold();
      directory.isCurrent = true;
    });

    for (const [name, target] of [
      ['mailbox', { type: 'mailbox', id: 'mbx_h' }],
      ['draft', { type: 'draft', id: 'drf_h' }],
      ['approval of the draft', { type: 'approval', id: 'chk_h', mailboxId: 'mbx_h', draftId: 'drf_h' }],
    ] as const)
      it(`keeps the content of a ${name}, and erases it with the expired once it is released ${verifies('contract:12:hold-content')}`, async () => {
        const upload = await stored(HELD, { expiresAt: new Date(clock.now().getTime() + 1_000) });
        const frozen = await stored(HELD, { kind: 'mime' });
        const other = await stored({ mailboxId: 'mbx_o', draftId: 'drf_o' }, { kind: 'mime' });
        directory.hold(holdOn('hld_1', target));
        clock.advance(2_000);
        await store.erase([frozen, other]);
        await store.eraseDraft('drf_h');
        expect(await store.eraseExpired(clock.now())).to.equal(0);
        expect([await isThere(upload), await isThere(frozen), await isThere(other)]).to.deep.equal([
          true,
          true,
          false,
        ]);
        expect(await readText(store, frozen)).to.equal('x');
        directory.hold({ ...holdOn('hld_1', target), state: 'released' });
        expect(await store.eraseExpired(clock.now())).to.equal(2);
        expect([await isThere(upload), await isThere(frozen)]).to.deep.equal([false, false]);
      });

    it('keeps everything while a hold may be missing here', async () => {
      const frozen = await stored(HELD, { kind: 'mime' });
      directory.isCurrent = false;
      await store.erase([frozen]);
      expect(await isThere(frozen)).to.equal(true);
      directory.isCurrent = true;
      expect(await store.eraseExpired(clock.now())).to.equal(1);
    });

    it('does not keep what never arrived completely', async () => {
      directory.hold(holdOn('hld_1', { type: 'draft', id: 'drf_h' }));
      const content = contentOf({ owner: HELD });
      async function* cut(): AsyncGenerator<Uint8Array> {
        yield await Promise.resolve(Buffer.alloc(CHUNK_BYTES));
        throw new Error('cut off');
      }
      expect(await rejection(store.put(content, cut()))).to.include({ message: 'cut off' });
      expect(await count('content_chunk', content.id)).to.equal(0);
    });
  });

  it('erases with a mailbox the summaries that webhooks sent of its messages', async () => {
    const summaries = async (): Promise<readonly string[]> =>
      (
        await sql.query<{ event_id: string }>('select event_id from vault.webhook_payload order by event_id')
      ).map(({ event_id: id }) => id);
    for (const [event, mailbox] of [
      ['evt_1', 'mbx_5'],
      ['evt_2', 'mbx_6'],
      ['evt_3', 'mbx_5'],
    ])
      await sql.query(
        "insert into vault.webhook_payload (event_id, mailbox_id, summary) values ($1, $2, 'sealed')",
        [event, mailbox],
      );
    expect(await summaries()).to.deep.equal(['evt_1', 'evt_2', 'evt_3']);
    await store.eraseMailbox('mbx_5');
    expect(await summaries()).to.deep.equal(['evt_2']);
  });

  it('stops a write when its draft is erased meanwhile', async () => {
    const content = contentOf({ owner: { mailboxId: 'mbx_1', draftId: 'drf_4' } });
    async function* erased(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(CHUNK_BYTES);
      await store.eraseDraft('drf_4');
      yield Buffer.alloc(CHUNK_BYTES);
    }
    expect(await rejection(store.put(content, erased()))).to.include({ code: 'not_found' });
    expect(await count('content_chunk', content.id)).to.equal(0);
  });

  it('stops the write of a short content that comes slowly when its draft is erased meanwhile', async () => {
    const content = contentOf({ owner: { mailboxId: 'mbx_1', draftId: 'drf_5' } });
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('the first half');
      await eventually(async () => {
        expect(await count('content', content.id)).to.equal(1);
      });
      await store.eraseDraft('drf_5');
      yield Buffer.from('the second half');
    }
    expect(await rejection(store.put(content, slow()))).to.include({ code: 'not_found' });
    expect(await count('content', content.id)).to.equal(0);
  });

  it('stores and returns 25 MiB with a few chunks in memory', async () => {
    const block = randomBytes(MIB);
    const content = contentOf();
    let most = 0;
    const before = await liveBuffers();
    const look = async (): Promise<void> => {
      most = Math.max(most, (await liveBuffers()) - before);
    };
    async function* source(): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 25; index += 1) {
        await look();
        yield await Promise.resolve(block);
      }
    }
    const hash = createHash('sha256');
    const { sha256 } = await store.put(content, source());
    let parts = 0;
    for await (const part of store.open(content.id)) {
      hash.update(part);
      parts += 1;
      if (parts % 20 === 0) await look();
    }
    expect(hash.digest('hex')).to.equal(sha256);
    expect(most).to.be.below(3 * MIB);
  });
});
