/** A disk that is full as Postgres tells it: SQLSTATE 53100, raised here by triggers. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Pool } from 'pg';
import type { Log } from '../../../../commands/ports/ports.ts';
import {
  type ConnectedEventStore,
  openEventStore,
} from '../../../../infra/event-store/event-store-client.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { readinessChecks } from '../../../../infra/process/gateway.ts';
import { StoreSpace } from '../../../../infra/process/store-space.ts';
import {
  embeddedStore,
  type EmbeddedStore,
  freshStream,
} from '../../../contract/event-store/store-under-test.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const NO_SPACE = {
  code: 'store_unavailable',
  message:
    'There is no space left where the gateway stores its data; try again when its operator has made room.',
};

const fact = () => ({ id: randomUUID(), type: 'SpaceTested', data: {}, metadata: {} });

for (const batchAppend of [true, false]) {
  describe(`a full disk (${batchAppend ? 'batch' : 'unary'})`, function () {
    this.timeout(90_000);
    let embedded: EmbeddedStore;
    let pool: Pool;
    let space: StoreSpace;
    let events: ConnectedEventStore;
    let lines: [string, string, unknown][];

    before(async () => {
      embedded = await embeddedStore({ batchAppend });
      pool = openPool({ url: embedded.databaseUrl, log: silentLog });
      await pool.query(`create function full_disk() returns trigger language plpgsql as
        $$ begin raise 'could not extend file "base/5/1": No space left on device' using errcode = '53100'; end $$`);
      await pool.query(`create function full_disk_ddl() returns event_trigger language plpgsql as
        $$ begin raise 'could not extend file "base/5/2": No space left on device' using errcode = '53100'; end $$`);
      await pool.query('create table note (n bigint primary key)');
    });
    beforeEach(() => {
      lines = [];
      const to = (level: string) => (message: string, fields?: unknown) => {
        lines.push([level, message, fields]);
      };
      const log: Log = { info: to('info'), warn: to('warn'), error: to('error') };
      space = new StoreSpace({ sql: postgresSql(pool), log });
      events = openEventStore({ url: embedded.url, log: silentLog, onNoSpace: space.noteFull });
    });
    afterEach(async () => {
      await makeRoom();
      await events.close();
    });
    after(async () => {
      await pool.end();
      await embedded.remove();
    });

    const fill = async (): Promise<void> => {
      await pool.query(`create trigger full_disk before insert on log.event execute function full_disk()`);
      await pool.query(`create trigger full_disk before insert on note execute function full_disk()`);
      await pool.query(`create event trigger full_disk on ddl_command_start when tag in ('CREATE TABLE AS')
        execute function full_disk_ddl()`);
    };
    const makeRoom = async (): Promise<void> => {
      await pool.query('drop event trigger if exists full_disk');
      await pool.query('drop trigger if exists full_disk on log.event');
      await pool.query('drop trigger if exists full_disk on note');
    };
    const ready = async (): Promise<boolean> => {
      const storage = { space } as never;
      const { space: check } = readinessChecks({ ports: {}, storage } as never, {} as never);
      return await (check?.() ?? Promise.reject(new Error('there is no such check'))).then(
        () => true,
        (error: unknown) => {
          expect(error).to.include(NO_SPACE);
          return false;
        },
      );
    };

    it(`is reported as no_space at once, and everything works again when there is room ${verifies('contract:20:no-space')}`, async () => {
      const stream = freshStream();
      expect(await ready()).to.equal(true);
      await fill();
      const begin = performance.now();
      expect(await rejection(events.append(stream, 'no-stream', [fact()]))).to.include(NO_SPACE);
      expect(performance.now() - begin).to.be.below(8_000);
      expect(await rejection(space.sql.query('insert into note values (1)'))).to.include(NO_SPACE);
      const nested = space.sql.transaction((inside) => inside.query('insert into note values (2)'));
      expect(await rejection(nested)).to.include(NO_SPACE);
      expect(await ready()).to.equal(false);
      expect(await space.isFull()).to.equal(true);
      expect(lines.map(([level]) => level)).to.deep.equal(['error']);

      await makeRoom();
      expect(await ready()).to.equal(true);
      expect(await space.isFull()).to.equal(false);
      expect(lines.map(([level]) => level)).to.deep.equal(['error', 'info']);
      expect((await events.append(stream, 'no-stream', [fact()])).revision).to.equal(0n);
      await space.sql.query('insert into note values (3)');
      const { rows } = await pool.query<{ n: string }>('select n from note');
      expect(rows).to.deep.equal([{ n: '3' }]);
      await pool.query('truncate note');
    });

    it('is detected for either store alone, and for no other failure', async () => {
      await rejection(space.sql.query('insert into nothing values (1)'));
      expect(await ready()).to.equal(true);
      await fill();
      await rejection(events.append(freshStream(), 'no-stream', [fact()]));
      expect(await ready()).to.equal(false);
    });
  });
}
