import { expect } from 'chai';
import { encodeEvent } from '../../../../infra/event-store/node/read-answers.ts';
import { RecentEvents } from '../../../../infra/event-store/node/recent-events.ts';
import type { StoredRecord } from '../../../../infra/event-store/node/stored-record.ts';
import { liveBuffers } from '../../../support/suite/live-buffers.ts';

const MIB = 1_048_576;

/** An event as the writer has it: data and metadata are parts of the received message. */
function received(position: number, dataBytes: number, messageBytes: number): StoredRecord {
  const message = Buffer.alloc(messageBytes, position);
  return {
    position,
    stream: `mailbox-${String(position)}`,
    revision: 0,
    id: '6f6d2b1a-9c3e-4b57-8d0a-1f2e3d4c5b6a',
    type: 'Happened',
    isJson: true,
    data: message.subarray(10, 10 + dataBytes),
    metadata: message.subarray(10 + dataBytes, 30 + dataBytes),
    createdMs: 1_700_000_000_000,
  };
}

describe('RecentEvents', () => {
  it('keeps of a received message only the event', async () => {
    const recent = new RecentEvents(0);
    const before = await liveBuffers();
    for (let position = 1; position <= 2_000; position += 1)
      recent.publish([received(position, 300, 64 * 1_024)]);
    const held = (await liveBuffers()) - before;
    expect(recent.bytes).to.be.within(2_000 * 320, 2_000 * 800);
    expect(held).to.be.below(recent.bytes + MIB);
    expect(recent.after(0)).to.have.length(2_000);
  });

  it('returns what was published, with its answer', () => {
    const recent = new RecentEvents(0);
    for (const [data, message] of [
      [0, 100],
      [127, 300],
      [200, 300],
      [40_000, 70_000],
    ] as const) {
      const record = received(recent.lastPosition + 1, data, message);
      recent.publish([record]);
      const [kept] = recent.after(record.position - 1) ?? [];
      expect(Buffer.from(kept?.data ?? []).equals(record.data)).to.equal(true);
      expect(Buffer.from(kept?.metadata ?? []).equals(record.metadata)).to.equal(true);
      expect(kept?.encoded?.equals(encodeEvent(record))).to.equal(true);
      expect(kept).to.include({ id: record.id, stream: record.stream, position: record.position });
    }
  });

  it('gives up the oldest beyond its bytes', () => {
    const recent = new RecentEvents(0);
    for (let position = 1; position <= 40; position += 1) recent.publish([received(position, MIB, 2 * MIB)]);
    expect(recent.bytes).to.be.within(8 * MIB, 17 * MIB);
    expect(recent.after(0)).to.equal(null);
    expect(recent.byId('6f6d2b1a-9c3e-4b57-8d0a-1f2e3d4c5b6a')?.position).not.to.equal(1);
    recent.restart(40);
    expect([recent.bytes, recent.after(40)]).to.deep.equal([0, []]);
  });

  it('returns a page of a stream from a revision that it has', () => {
    const recent = new RecentEvents(0);
    const publish = (stream: string, revision: number, bytes: number): void => {
      recent.publish([{ ...received(recent.lastPosition + 1, bytes, 2 * bytes), stream, revision }]);
    };
    const revisions = (stream: string, from: number, most = 100) =>
      recent.streamFrom(stream, from, most)?.map(({ revision }) => revision) ?? null;
    for (let revision = 0; revision < 3; revision += 1) {
      publish('draft-1', revision, 100);
      publish('draft-2', 7 + revision, 100);
    }
    expect(revisions('draft-1', 0)).to.deep.equal([0, 1, 2]);
    expect(revisions('draft-1', 1, 1)).to.deep.equal([1]);
    expect(revisions('draft-1', 3), 'beyond the end').to.equal(null);
    expect(revisions('draft-2', 7)).to.deep.equal([7, 8, 9]);
    expect(revisions('draft-2', 6)).to.equal(null);
    expect(revisions('draft-3', 0)).to.equal(null);
    for (let revision = 3; revision < 23; revision += 1) publish('draft-1', revision, MIB);
    expect(revisions('draft-1', 0), 'given up').to.equal(null);
    expect(revisions('draft-1', 21), 'one event fills a page').to.deep.equal([21]);
    expect(revisions('draft-2', 7)).to.equal(null);
    recent.restart(40);
    expect(revisions('draft-1', 21)).to.equal(null);
  });
});
