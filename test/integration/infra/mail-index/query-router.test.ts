import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { MailAnswer } from '../../../../commands/ports/mail-port.ts';
import type { MailQuery } from '../../../../commands/mail/query.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import {
  FENCE_OF_TEST,
  type IndexUnderTest,
  indexUnderTest,
  LIFE_OF_TEST,
  MAILBOX_ID,
  MAILBOX_NUMBER,
} from '../../../support/worlds/filled-mirror.ts';
import { appendMessages, plainMessage, withClient } from '../../../support/servers/mail-append.ts';
import { ARCHIVE, INBOX, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** Where the copies of a filled index say the feed is, and where the log ends: which of the two answered shows by it. */
const OF_INDEX = 5n;
const LIVE = 7n;

describe('the query router', function () {
  this.timeout(90_000);
  let server: TestDovecot;
  let users = 0;

  before(async function () {
    server = await requireTestDovecot(this);
  });
  after(() => server.dispose());

  async function filled(work: (index: IndexUnderTest, user: string) => Promise<void>): Promise<void> {
    users += 1;
    const user = `router${String(users)}`;
    const seeds = ['one', 'two', 'three'].map((subject, at) => ({
      raw: plainMessage({ subject, id: `<${subject}@example.com>`, text: `Text of ${subject}` }),
      flags: at === 0 ? ['\\Seen'] : [],
      receivedAt: new Date(Date.UTC(2025, 0, 1 + at)),
    }));
    await appendMessages(server.imap(), user, [
      ...seeds,
      { raw: plainMessage({ subject: 'old' }), folder: 'Archive' },
    ]);
    await using index = await indexUnderTest(server.imap(), user);
    await index.fill([INBOX, ARCHIVE]);
    await work(index, user);
  }

  const ask = ({ indexed }: IndexUnderTest, fields: Partial<MailQuery> = {}): Promise<MailAnswer> =>
    indexed.gateway.query(MAILBOX_ID, queryOf(fields));
  const subjects = ({ messages }: MailAnswer): readonly (string | null)[] =>
    messages.map(({ subject }) => subject);

  it('uses the index while it equals the server, and the server when a message arrived', async () => {
    await filled(async (index, user) => {
      const first = await ask(index);
      expect(first.asOf).to.equal(OF_INDEX);
      expect(subjects(first)).to.deep.equal(['three', 'two', 'one']);
      // Looks of the last second count, and this mailbox was looked at just now.
      await appendMessages(server.imap(), user, [{ raw: plainMessage({ subject: 'four' }) }]);
      index.now += 1_000;
      const second = await ask(index);
      expect(second.asOf).to.equal(LIVE);
      expect(subjects(second)[0]).to.equal('four');
      expect((await ask(index, { folders: [ARCHIVE] })).asOf, 'other folders are not touched by it').to.equal(
        OF_INDEX,
      );
      await index.fill([INBOX]);
      const third = await ask(index);
      expect(third.asOf).to.equal(OF_INDEX);
      expect(subjects(third)[0]).to.equal('four');
    });
  });

  it(`counts flags on a server without CONDSTORE, and reports where it cannot ${verifies('contract:4:flags-counted')}`, async () => {
    await filled(async (index, user) => {
      await index.sql.query('update mirror.folder set highest_modseq = null');
      await withClient(server.imap(), user, async (client) => {
        await client.mailboxOpen('INBOX');
        await client.messageFlagsAdd('3', ['\\Seen'], { uid: true });
      });
      const unseen = await ask(index, { filter: { seen: false }, countOnly: true });
      expect([unseen.count, unseen.asOf]).to.deep.equal([1, LIVE]);
      expect(unseen).not.to.have.property('isExact');
      expect((await ask(index, { filter: { subject_contains: 'o' }, countOnly: true })).asOf).to.equal(
        OF_INDEX,
      );
      await using narrow = await indexUnderTest(server.imap(), user, { maxEvaluated: 1 });
      await narrow.fill([INBOX]);
      await narrow.sql.query('update mirror.folder set highest_modseq = null');
      const wide = {
        filter: { all: [{ seen: false }, { not: { subject_contains: 'x' } }] },
        countOnly: true,
      };
      await withClient(server.imap(), user, async (client) => {
        await client.mailboxOpen('INBOX');
        await client.messageFlagsRemove('1:3', ['\\Seen'], { uid: true });
      });
      const counted = await ask(narrow, wide);
      expect(counted).to.include({ isExact: false, asOf: OF_INDEX });
    });
  });

  it('uses the server when another client changed a flag or removed a message', async () => {
    await filled(async (index, user) => {
      const unseen = { filter: { seen: false } };
      await withClient(server.imap(), user, async (client) => {
        await client.mailboxOpen('INBOX');
        await client.messageFlagsAdd('3', ['\\Seen'], { uid: true });
        await client.mailboxOpen('Archive');
        await client.messageDelete('1', { uid: true });
      });
      const inbox = await ask(index, unseen);
      expect(inbox.asOf).to.equal(LIVE);
      expect(subjects(inbox)).to.deep.equal(['two']);
      const archive = await ask(index, { folders: [ARCHIVE] });
      expect(archive.asOf).to.equal(LIVE);
      expect(archive.messages).to.deep.equal([]);
    });
  });

  it('uses the server while a mirror is invalidated, until a poll that began afterwards', async () => {
    await filled(async (index) => {
      const key = index.keyOf(INBOX);
      const before = await index.index.folder(key);
      await index.index.invalidate([key]);
      expect((await ask(index)).asOf).to.equal(LIVE);
      if (before === null) throw new Error('no copy');
      const update = { ...key, reset: false, added: [], flags: [], removedUids: [] };
      // This look began before the copy was distrusted: it may lack what made it so.
      await index.index.apply(MAILBOX_ID, FENCE_OF_TEST, { ...update, mirror: before });
      expect((await ask(index)).asOf).to.equal(LIVE);
      const now = await index.index.folder(key);
      if (now === null) throw new Error('no copy');
      await index.index.apply(MAILBOX_ID, FENCE_OF_TEST, { ...update, mirror: now });
      expect((await ask(index)).asOf).to.equal(OF_INDEX);
    });
  });

  it(`uses the server while a requested folder is incomplete or has no mirror ${verifies('contract:4:index-never-none')}`, async () => {
    await filled(async (index) => {
      const folders = [INBOX, ARCHIVE];
      expect((await ask(index, { folders })).asOf).to.equal(OF_INDEX);
      const mirror = await index.index.folder(index.keyOf(ARCHIVE));
      if (mirror === null) throw new Error('no copy');
      const update = { ...index.keyOf(ARCHIVE), reset: true, added: [], flags: [], removedUids: [] };
      await index.index.apply(MAILBOX_ID, FENCE_OF_TEST, {
        ...update,
        mirror: { ...mirror, indexedFrom: 2 },
      });
      const building = await ask(index, { folders });
      expect(building.asOf).to.equal(LIVE);
      expect(building.messages, 'an incomplete copy never answers "none"').to.have.length(4);
      await index.index.forget(MAILBOX_ID, FENCE_OF_TEST, [index.keyOf(ARCHIVE)]);
      expect((await ask(index, { folders })).asOf).to.equal(LIVE);
    });
  });

  it(`reports that the index is being built when only the index can answer, or that there is none ${verifies('contract:4:live-limit', 'contract:4:index-building')}`, async () => {
    await filled(async (index, user) => {
      await using narrow = await indexUnderTest(server.imap(), user, { maxEvaluated: 1 });
      const filter = { subject_contains: 'o' };
      const none = await rejection(ask(narrow, { filter }));
      expect(none).to.include({ code: 'filter_unsupported' });
      await narrow.fill([INBOX]);
      expect(subjects(await ask(narrow, { filter }))).to.deep.equal(['two', 'one']);
      await narrow.index.invalidate([narrow.keyOf(INBOX)]);
      const building = await rejection(ask(narrow, { filter }));
      expect(building).to.include({ code: 'index_building' });
      expect(building).to.have.property('details').that.deep.equals({ indexed: 3, total: 3 });
      expect(building).to.have.property('retryAfterSeconds').that.is.greaterThan(0);
      expect((await ask(index, { filter })).asOf).to.equal(OF_INDEX);
    });
  });

  it('polls a folder once a second at most, and never while a worker attests its freshness', async () => {
    await filled(async (index) => {
      const key = index.keyOf(INBOX);
      await Promise.all(Array.from({ length: 20 }, () => ask(index)));
      // Nobody can ask a server that is away; a look of this second still counts.
      await server.stop();
      try {
        expect((await ask(index)).asOf).to.equal(OF_INDEX);
        index.now += 1_000;
        expect(await rejection(ask(index))).to.include({ code: 'mailbox_unavailable' });
        const vouch = (forMs: number, life = LIFE_OF_TEST): Promise<void> =>
          index.index.attest(MAILBOX_ID, FENCE_OF_TEST, key, { forMs, life });
        await vouch(60_000);
        expect((await ask(index)).asOf).to.equal(OF_INDEX);
        await index.sql.query('update work.mailbox_lease set until = now()');
        expect(await rejection(ask(index)), 'a dead worker vouches for nothing').to.include({
          code: 'mailbox_unavailable',
        });
        await index.sql.query(`update work.mailbox_lease set until = now() + interval '1 hour'`);
        expect((await ask(index)).asOf).to.equal(OF_INDEX);
        await index.sql.query('update work.worker_heartbeat set until = now()');
        expect(await rejection(ask(index)), 'neither does a process that is silent').to.include({
          code: 'mailbox_unavailable',
        });
        await index.sql.query(`update work.worker_heartbeat set until = now() + interval '1 hour'`);
        await vouch(60_000, randomUUID());
        expect(await rejection(ask(index)), 'nor what was looked at in an earlier life').to.include({
          code: 'mailbox_unavailable',
        });
        await vouch(60_000);
        expect((await ask(index)).asOf).to.equal(OF_INDEX);
        await vouch(0);
        expect(await rejection(ask(index))).to.include({ code: 'mailbox_unavailable' });
      } finally {
        await server.start();
      }
    });
  });

  it('leaves to the server the conditions only it knows, and fetches texts for a page of the index', async () => {
    await filled(async (index) => {
      const found = await ask(index, { filter: { body_contains: 'Text of two' } });
      expect(found.asOf).to.equal(LIVE);
      expect(found.evaluatedBy).to.equal('mail_server');
      expect(subjects(found)).to.deep.equal(['two']);
      const read = await ask(index, { filter: { subject_contains: 'two' }, textChars: 100 });
      expect(read.asOf).to.equal(OF_INDEX);
      expect(read.messages[0]?.text?.content.trim()).to.equal('Text of two');
    });
  });

  it('uses the server when the folder was created again under its name', async () => {
    await filled(async (index, user) => {
      await withClient(server.imap(), user, async (client) => {
        await client.mailboxDelete('Archive');
        await client.mailboxCreate('Archive');
      });
      const answer = await ask(index, { folders: [ARCHIVE] });
      expect(answer.asOf).to.equal(LIVE);
      expect(answer.messages).to.deep.equal([]);
      expect(await index.index.progress(MAILBOX_NUMBER)).to.deep.equal({ indexed: 4, total: 4 });
    });
  });
});
