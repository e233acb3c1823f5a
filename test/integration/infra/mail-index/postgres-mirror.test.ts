import { expect } from 'chai';
import type { Sql } from '../../../../commands/ports/ports.ts';
import {
  FencedOff,
  type FolderMirror,
  type FolderUpdate,
  type MirroredMessage,
} from '../../../../infra/mail-index/folder-mirror.ts';
import { PostgresMailIndex } from '../../../../infra/mail-index/postgres-mirror.ts';
import {
  FENCE_OF_TEST,
  LIFE_OF_TEST,
  MAILBOX_ID,
  MAILBOX_NUMBER,
  openIndex,
  testLocators,
  WHOLE,
} from '../../../support/worlds/filled-mirror.ts';
import { figure, isLong } from '../../../support/suite/long.ts';
import { INBOX, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const KEY = { mailboxNumber: MAILBOX_NUMBER, folderNumber: INBOX.number };

const message = (uid: number, change: Partial<MirroredMessage> = {}): MirroredMessage => ({
  ref: { folder: INBOX, uidValidity: 9, uid },
  seen: false,
  flagged: false,
  answered: false,
  draft: false,
  deleted: false,
  keywords: [],
  size: 100 + uid,
  receivedAt: new Date(1_700_000_000_000 + uid * 1_000),
  sentAt: null,
  messageId: `<${String(uid)}@example.com>`,
  inReplyTo: null,
  references: [],
  subject: `Subject ${String(uid)}`,
  from: [{ name: 'Anna', email: 'anna@example.com' }],
  to: [],
  cc: [],
  bcc: [],
  replyTo: [],
  autoSubmitted: null,
  hasAttachments: false,
  attachments: [],
  threadRoot: `<${String(uid)}@example.com>`,
  ...change,
});

const mirror: FolderMirror = {
  uidValidity: 9,
  uidNext: 100,
  indexedFrom: 1,
  highestModseq: 2n ** 60n,
  total: 3,
  checkedAt: new Date('2026-01-02T03:04:05.678Z'),
  feedPosition: 12n,
  invalidations: 0,
};

const update = (change: Partial<FolderUpdate> = {}): FolderUpdate => ({
  ...KEY,
  reset: false,
  added: [],
  flags: [],
  removedUids: [],
  mirror,
  ...change,
});

describe('the index in Postgres', function () {
  this.timeout(isLong ? 120_000 : 60_000);
  let sql: Sql;
  let index: PostgresMailIndex;
  let close: () => Promise<void>;

  beforeEach(async () => {
    ({ sql, index, close } = await openIndex());
  });
  afterEach(() => close());

  const apply = (change: Partial<FolderUpdate>): Promise<void> =>
    index.apply(MAILBOX_ID, FENCE_OF_TEST, update(change));
  const uids = async (): Promise<readonly number[]> => {
    const answer = await index.query(WHOLE, queryOf());
    if (answer === null) throw new Error('the index does not answer');
    return answer.messages.map(({ ref }) => ref.uid);
  };

  it('returns what was written of a folder', async () => {
    expect(await index.folder(KEY)).to.equal(null);
    await apply({ added: [message(1)] });
    expect(await index.folder(KEY)).to.deep.equal(mirror);
    const changed = { ...mirror, highestModseq: null, feedPosition: null, uidNext: 200 };
    await apply({ mirror: changed });
    expect(await index.folder(KEY)).to.deep.equal(changed);
  });

  it('adds, changes and removes in one step, and counts the result', async () => {
    await apply({
      added: [message(1), message(2, { keywords: ['$Work', 'Later'], seen: true }), message(3)],
    });
    await apply({
      added: [message(4), message(2)],
      flags: [{ uid: 3, flags: ['\\SEEN', '\\Flagged', 'Later', '\\Recent'] }],
      removedUids: [1, 77],
    });
    expect(await uids()).to.deep.equal([4, 3, 2]);
    expect(await index.progress(MAILBOX_NUMBER)).to.deep.equal({ indexed: 3, total: 3 });
    expect(await index.flagsOf(KEY, 2, 3)).to.deep.equal(
      new Map([
        [2, []],
        [3, ['\\Seen', '\\Flagged', 'Later']],
      ]),
    );
    await apply({ reset: true, added: [message(50)] });
    expect(await uids()).to.deep.equal([50]);
    expect(await index.progress(MAILBOX_NUMBER)).to.deep.equal({ indexed: 1, total: 3 });
  });

  it('keeps a message marked for removal, hides it, and shows it again without the mark', async () => {
    await apply({ added: [message(1, { deleted: true, seen: true }), message(2)] });
    expect(await uids()).to.deep.equal([2]);
    expect((await index.query(WHOLE, queryOf({ countOnly: true })))?.count).to.equal(1);
    expect((await index.flagsOf(KEY, 1, 1)).get(1)).to.deep.equal(['\\Seen', '\\Deleted']);
    await apply({ flags: [{ uid: 1, flags: ['\\Seen'] }] });
    expect(await uids()).to.deep.equal([2, 1]);
  });

  it('reports a page as unchanged until its folder changes', async () => {
    await apply({ added: [message(1), message(2)] });
    const ask = async (knownVersion = '') => {
      const answer = await index.query(WHOLE, { ...queryOf(), knownVersion });
      if (answer === null) throw new Error('the index does not answer');
      return answer;
    };
    const first = await ask();
    expect(first.messages).to.have.length(2);
    expect(await ask(first.version)).to.deep.include({
      unchanged: true,
      version: first.version,
      messages: [],
    });
    // A poll that finds nothing new changes no page.
    await apply({ mirror: { ...mirror, checkedAt: new Date() } });
    expect(await ask(first.version)).to.include({ unchanged: true });
    await apply({ flags: [{ uid: 1, flags: ['\\Flagged'] }] });
    const flagged = await ask(first.version);
    expect(flagged.messages.map((each) => each.flagged)).to.deep.equal([false, true]);
    await apply({ removedUids: [2] });
    expect((await ask(flagged.version)).messages).to.have.length(1);
    await apply({ reset: true, added: [message(1), message(2)] });
    const reset = await ask(flagged.version);
    expect(reset.messages.map((each) => each.flagged)).to.deep.equal([false, false]);
    await index.forget(MAILBOX_ID, FENCE_OF_TEST, [KEY]);
    expect(await index.query(WHOLE, queryOf())).to.equal(null);
    await apply({ added: [message(7)] });
    expect((await ask(reset.version)).messages.map(({ ref }) => ref.uid)).to.deep.equal([7]);
  });

  it('changes nothing for a worker that does not hold the mailbox', async () => {
    await apply({ added: [message(1)] });
    await sql.query('update work.mailbox_lease set fence = fence + 1');
    expect(await rejection(apply({ added: [message(2)] }))).to.be.instanceOf(FencedOff);
    const vouch = { forMs: 1_000, life: LIFE_OF_TEST };
    expect(await rejection(index.attest(MAILBOX_ID, FENCE_OF_TEST, KEY, vouch))).to.be.instanceOf(FencedOff);
    expect(await rejection(index.forget(MAILBOX_ID, FENCE_OF_TEST, [KEY]))).to.be.instanceOf(FencedOff);
    expect(await uids()).to.deep.equal([1]);
  });

  it('keeps the mailbox from other workers while an update is being written', async () => {
    let taken = false;
    await sql.transaction(async (inside) => {
      await inside.query('update work.mailbox_lease set fence = fence + 1');
      const late = rejection(apply({ added: [message(1)] })).finally(() => {
        taken = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(taken, 'it waits for who holds the row').to.equal(false);
      void late;
    });
    expect(await rejection(apply({ added: [message(1)] }))).to.be.instanceOf(FencedOff);
    expect(await index.folder(KEY)).to.equal(null);
  });

  it('moves messages with all that is stored of them, or takes them from their folder', async () => {
    const archive = { ...KEY, folderNumber: 2 };
    await apply({ added: [message(1, { seen: true, keywords: ['Later'] }), message(2), message(3)] });
    await apply({ ...archive, mirror: { ...mirror, total: 0 } });
    await sql.query("alter table mirror.message add added_later text default ''");
    await sql.query("update mirror.message set added_later = 'uid ' || uid");
    const state = { invalidations: 0 };
    await index.move(MAILBOX_ID, FENCE_OF_TEST, {
      mailboxNumber: MAILBOX_NUMBER,
      moves: [
        { from: KEY.folderNumber, uid: 1, to: 2, newUid: 100 },
        { from: KEY.folderNumber, uid: 2, to: null, newUid: 101 },
      ],
      folders: [
        { ...state, folderNumber: KEY.folderNumber, uidNext: 100, total: 1, grown: -2 },
        { ...state, folderNumber: 2, uidNext: 101, total: 1, grown: 1 },
      ],
      feedPosition: null,
      echoes: [],
    });
    const stored = `select folder_number, m.uid::int, keywords, added_later, envelope like '%Subject%' as has_text
      from mirror.message as m full join mirror.message_text as t using (folder_number, uid) order by folder_number`;
    const kept = { has_text: true };
    expect(await sql.query(stored)).to.deep.equal([
      { ...kept, folder_number: 1, uid: 3, keywords: null, added_later: 'uid 3' },
      { ...kept, folder_number: 2, uid: 100, keywords: ['Later'], added_later: 'uid 1' },
    ]);
    expect(await index.folder(archive)).to.include({ uidNext: 101, total: 1 });
  });

  it('removes folders and whole mailboxes', async () => {
    const other = { ...KEY, folderNumber: 2 };
    await apply({ added: [message(1)] });
    await apply({ ...other, added: [message(1)] });
    await index.forget(MAILBOX_ID, FENCE_OF_TEST, [other]);
    expect(await index.folder(other)).to.equal(null);
    expect(await uids()).to.deep.equal([1]);
    await index.erase(MAILBOX_NUMBER);
    for (const table of ['folder', 'message', 'message_text']) {
      expect(await sql.query(`select 1 from mirror.${table}`), table).to.deep.equal([]);
    }
  });

  it('keeps a confirmed update when the database crashes, and attests without waiting for the disk', async () => {
    const flushed: unknown[] = [];
    const transaction: Sql['transaction'] = (work) =>
      sql.transaction(async (inside) => {
        // The databases of tests never wait for the disk.
        await inside.query("select set_config('synchronous_commit', 'on', true)");
        const result = await work(inside);
        const [row] = await inside.query<{ synchronous_commit: string }>('show synchronous_commit');
        flushed.push(row?.synchronous_commit);
        return result;
      });
    // A statement alone is a transaction too.
    const query: Sql['query'] = (text, values) => transaction((inside) => inside.query(text, values));
    const noting: Sql = { query, transaction };
    const noted = new PostgresMailIndex(noting, testLocators);
    await noted.apply(MAILBOX_ID, FENCE_OF_TEST, update({ added: [message(1)] }));
    await noted.attest(MAILBOX_ID, FENCE_OF_TEST, KEY, { forMs: 1_000, life: LIFE_OF_TEST });
    await noted.forget(MAILBOX_ID, FENCE_OF_TEST, [KEY]);
    expect(flushed).to.deep.equal(['on', 'off', 'on']);
  });

  it('stores messages by the thousand', async () => {
    const [count, batch] = [isLong ? 100_000 : 5_000, 1_000];
    const begin = performance.now();
    for (let from = 1; from <= count; from += batch) {
      await apply({ added: Array.from({ length: batch }, (_, at) => message(from + at)) });
    }
    const perSecond = (count / (performance.now() - begin)) * 1_000;
    const [size] = await sql.query<{ bytes: number }>(
      `select (pg_total_relation_size('mirror.message') + pg_total_relation_size('mirror.message_text'))::float8 as bytes`,
    );
    figure(
      `index: ${perSecond.toFixed(0)} messages/s taken in, ${((size?.bytes ?? 0) / count).toFixed(0)} bytes each with its indexes`,
    );
    // Between other tests it has a small part of the machine.
    expect(perSecond).to.be.greaterThan(isLong ? 5_000 : 1_000);
  });
});
