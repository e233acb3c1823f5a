import { expect } from 'chai';
import { type FeedEvent, feedEvents, feedStream } from '../../../../commands/feed/feed-events.ts';
import { appendFacts, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { catalogueOf, type Fact } from '../../../../commands/values/event.ts';
import { FeedWriter } from '../../../../infra/mail-sync/feed-writer.ts';
import { MailboxLost } from '../../../../infra/mail-sync/mailbox-leases.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { memoryPorts } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const mailboxId = 'mbx_1';
const DAY_MS = 24 * 60 * 60_000;
const fact: Fact<FeedEvent> = {
  type: 'FolderIndexed',
  data: { mailbox_id: mailboxId, folder: 1, uid_validity: 7, count: 0 },
};

describe('FeedWriter', () => {
  const world = () => {
    const { ports: memory, events } = memoryPorts();
    const clock = new ManualClock('2026-03-01T23:59:59.000Z');
    const ports = { ...memory, clock };
    const author = systemAuthor(ports, 'org_1');
    const lease = { mailboxId, fence: 2n, currentAt: null, isHeld: () => true };
    /** A late append of an earlier holder of the mailbox. */
    const late = async (at = clock.now()): Promise<void> => {
      const stream = feedStream(mailboxId, at);
      const expected = (await events.readLast(stream))?.revision ?? 'no-stream';
      await appendFacts(ports, author, {
        stream,
        expected,
        catalogue: catalogueOf(feedEvents),
        facts: [fact],
      });
    };
    return { clock, late, writer: new FeedWriter({ ports, author, lease }) };
  };

  it('continues at the revision found when the mailbox was taken, also past midnight', async () => {
    const { clock, late, writer } = world();
    await late();
    await writer.begin();
    const first = await writer.append([fact]);
    clock.advance(2_000);
    const second = await writer.append([fact]);
    clock.advance(3 * DAY_MS);
    const third = await writer.append([fact]);
    expect([first < second, second < third]).to.deep.equal([true, true]);
  });

  it('throws MailboxLost when another process has appended since', async () => {
    const { late, writer } = world();
    await late();
    await writer.begin();
    await late();
    expect(await rejection(writer.append([fact]))).to.be.instanceOf(MailboxLost);
  });

  it('throws MailboxLost also after a new connection', async () => {
    const { late, writer } = world();
    await writer.begin();
    await writer.append([fact]);
    await late();
    await writer.begin();
    expect(await rejection(writer.append([fact]))).to.be.instanceOf(MailboxLost);
  });

  for (const isTakenBefore of [true, false]) {
    it(`throws MailboxLost when the day before grew, and the mailbox was taken ${isTakenBefore ? 'before' : 'after'} midnight`, async () => {
      const { clock, late, writer } = world();
      const yesterday = clock.now();
      await late();
      if (!isTakenBefore) clock.advance(2_000);
      await writer.begin();
      if (isTakenBefore) clock.advance(2_000);
      await late(yesterday);
      expect(await rejection(writer.append([fact]))).to.be.instanceOf(MailboxLost);
    });
  }
});
