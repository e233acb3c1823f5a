import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import type { Row, Sql } from '../../../../commands/ports/ports.ts';
import { type SqlText, textOf } from '../../../../commands/ports/statement.ts';
import { CHUNK_BYTES } from '../../../../infra/content-store/content-writing.ts';
import { PostgresContentStore } from '../../../../infra/content-store/postgres-content-store.ts';
import { directoryHolding } from '../../../support/fakes/directory-holding.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { randomKey } from '../../../support/samples/random-key.ts';

describe('the content store under many uploads', () => {
  it('writes few chunks at once, so that connections and memory are left', async () => {
    let [writing, most, chunks] = [0, 0, 0];
    const query = async (statement: SqlText): Promise<Row[]> => {
      const text = textOf(statement);
      // The last statement of a content adds what is left of it.
      if (!text.includes('into vault.content_chunk') || text.includes('sealed_facts')) return [{}];
      writing += 1;
      chunks += 1;
      most = Math.max(most, writing);
      await nextTurn();
      writing -= 1;
      return [{}];
    };
    const store = new PostgresContentStore({
      sql: { query } as unknown as Sql,
      masterKey: randomKey(),
      clock: new ManualClock('2026-03-01T12:00:00.000Z'),
      log: silentLog,
      directory: directoryHolding(),
    });
    async function* file(): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < 3; n += 1) yield await Promise.resolve(Buffer.alloc(CHUNK_BYTES));
    }
    const upload = (n: number) =>
      store.put(
        {
          ...{ id: `upl_${String(n)}`, kind: 'upload', filename: null, contentType: 'a/b', expiresAt: null },
          ...{ owner: { mailboxId: 'mbx_1', draftId: 'drf_1' }, maxBytes: 10 * CHUNK_BYTES },
        },
        file(),
      );
    const stored = await Promise.all(Array.from({ length: 25 }, (_, n) => upload(n)));
    expect(stored.every(({ size }) => size === 3 * CHUNK_BYTES)).to.equal(true);
    expect([chunks, most]).to.deep.equal([75, 4]);
  });
});
