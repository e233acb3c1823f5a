import { expect } from 'chai';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { migrate } from '../../../../infra/postgres/migrate.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';

describe('a mirror whose first pass an earlier version restarted', function () {
  this.timeout(60_000);

  it('holds no message below the place of the pass, whose removal it would miss', async () => {
    const database = await testDatabase({ migrated: false });
    await migrate({ url: database.url, upTo: '0016-departed-messages.sql' });
    const client = await openDirectConnection(database.url, 'test');
    try {
      await client.query(`
        insert into mirror.folder (mailbox_number, folder_number, uid_validity, uid_next, indexed_from, total, indexed, checked_at)
        values (1, 1, 9, 100, 1, 3, 3, now()), (1, 2, 9, 100, 50, 3, 3, now()), (2, 1, 9, 100, 100, 3, 3, now());
        insert into mirror.message (mailbox_number, folder_number, uid, received_at, size, seen, flagged, answered, draft,
          deleted, has_attachment)
        select mailbox_number, folder_number, uid, 0, 1, false, false, false, false, false, false
        from mirror.folder, unnest(array[10, 50, 99]) as uid;
        insert into work.mailbox_lease (mailbox_id, run_id, fence, until) values ('mbx_1', 'old', 4, now() + interval '1 hour');
        insert into mirror.message_text select mailbox_number, folder_number, uid, '', '{}' from mirror.message`);
      await migrate({ url: database.url });
      for (const table of ['message', 'message_text']) {
        const { rows } = await client.query<{ place: string }>(
          `select mailbox_number || '/' || folder_number || '/' || uid as place from mirror.${table} order by 1`,
        );
        const places = rows.map(({ place }) => place);
        expect(places, table).to.deep.equal(['1/1/10', '1/1/50', '1/1/99', '1/2/50', '1/2/99']);
      }
      const { rows } = await client.query<{ indexed: string }>(
        'select indexed from mirror.folder order by mailbox_number, folder_number',
      );
      expect(rows.map(({ indexed }) => Number(indexed))).to.deep.equal([3, 2, 0]);
      const { rows: leases } = await client.query(
        'select fence::int, until > now() as held from work.mailbox_lease',
      );
      expect(leases, 'who remembers the copy as it was writes no more').to.deep.equal([
        { fence: 5, held: false },
      ]);
    } finally {
      await client.end();
      await database.drop();
    }
  });
});
