/** Appends: expectations, idempotency, limits. The table of idempotency is what a real 24.6 server was seen to do. */
import { expect } from 'chai';
import {
  ANY,
  MaxAppendSizeExceededError,
  NO_STREAM,
  STREAM_EXISTS,
  WrongExpectedVersionError,
  binaryEvent,
  jsonEvent,
} from '@eventstore/db-client';
import type { AppendExpectedRevision, AppendResult, EventData } from '@eventstore/db-client';
import { describeStores, freshStream, happened, numbered, rejection } from './store-under-test.ts';

const MIB = 1_048_576;

describeStores('append', (store) => {
  const append = (
    stream: string,
    expectedRevision: AppendExpectedRevision,
    events: EventData | EventData[],
  ): Promise<AppendResult> =>
    store().client.appendToStream(stream, events, { ...store().appendOptions, expectedRevision });

  const refusal = (promise: Promise<unknown>): Promise<WrongExpectedVersionError> =>
    rejection(promise, WrongExpectedVersionError);

  async function streamIds(stream: string): Promise<string[]> {
    const ids: string[] = [];
    for await (const { event } of store().client.readStream(stream)) ids.push(event?.id ?? '');
    return ids;
  }

  it('creates a stream and continues at the exact revision', async () => {
    const stream = freshStream();
    const first = await append(stream, NO_STREAM, numbered(2));
    expect(first).to.include({ success: true, nextExpectedRevision: 1n });
    const second = await append(stream, 1n, happened());
    expect(second.nextExpectedRevision).to.equal(2n);
    expect(Number(second.position?.commit)).to.be.above(Number(first.position?.commit));
    expect(second.position?.prepare).to.equal(second.position?.commit);
  });

  it('refuses every expectation that is not met and reports the revision of the stream', async () => {
    const stream = freshStream();
    expect(await refusal(append(stream, 0n, happened()))).to.include({
      actualVersion: 'no_stream',
      expectedVersion: 0n,
    });
    expect(await refusal(append(stream, STREAM_EXISTS, happened()))).to.include({
      actualVersion: 'no_stream',
      expectedVersion: 'stream_exists',
    });
    await append(stream, NO_STREAM, numbered(3));
    expect(await refusal(append(stream, NO_STREAM, happened()))).to.include({
      actualVersion: 2n,
      expectedVersion: 'no_stream',
      streamName: stream,
    });
    expect(await refusal(append(stream, 1n, happened()))).to.include({
      actualVersion: 2n,
      expectedVersion: 1n,
    });
    expect(await refusal(append(stream, 7n, happened()))).to.include({ actualVersion: 2n });
    expect(await streamIds(stream)).to.have.length(3);
  });

  it('accepts one of two equal claims with different ids', async () => {
    const stream = freshStream();
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => append(stream, NO_STREAM, happened())),
    );
    const lost = results.filter((result) => result.status === 'rejected');
    expect(lost).to.have.length(7);
    for (const { reason } of lost) expect(reason).to.be.instanceOf(WrongExpectedVersionError);
    expect(await streamIds(stream)).to.have.length(1);
  });

  it('writes the same ids once when they are sent twice at the same time', async () => {
    const stream = freshStream();
    const events = numbered(2);
    // A server may drop the second while the first is under way; sent again afterwards, it is told the same.
    const answers = await Promise.allSettled([
      append(stream, NO_STREAM, events),
      append(stream, NO_STREAM, events),
    ]);
    const told = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const again = await append(stream, NO_STREAM, events);
    expect(told.length).to.be.above(0);
    for (const answer of told) expect(answer).to.deep.equal(again);
    expect(await streamIds(stream)).to.deep.equal(events.map(({ id }) => id));
  });

  describe('append of events that were written before', () => {
    const given = async () => {
      const stream = freshStream();
      const [a, b, c, d] = numbered(4);
      if (!a || !b || !c || !d) throw new Error('four events');
      const ab = await append(stream, NO_STREAM, [a, b]);
      const abc = await append(stream, 1n, c);
      return { stream, a, b, c, d, ab, abc };
    };

    it('returns the original position when the events and the place are the same', async () => {
      const { stream, a, b, c, ab, abc } = await given();
      expect(await append(stream, NO_STREAM, [a, b])).to.deep.equal(ab);
      expect(await append(stream, NO_STREAM, a)).to.include({ nextExpectedRevision: 0n });
      expect(await append(stream, 0n, b)).to.deep.equal(ab);
      expect(await append(stream, NO_STREAM, [a, b, c])).to.deep.equal(abc);
      expect(await streamIds(stream)).to.deep.equal([a.id, b.id, c.id]);
    });

    it('refuses the events when place, order or company differ', async () => {
      const { stream, a, b, c, d } = await given();
      await refusal(append(stream, 1n, [a, b]));
      await refusal(append(stream, NO_STREAM, [b, a]));
      await refusal(append(stream, 1n, [c, d]));
      expect(await streamIds(stream)).to.have.length(3);
    });

    it('writes the events again when the expected revision is the head', async () => {
      const { stream, a, b } = await given();
      expect(await append(stream, 2n, [a, b])).to.include({ nextExpectedRevision: 4n });
      expect(await streamIds(stream)).to.have.length(5);
    });

    it('ignores the content when it compares appends', async () => {
      const { stream, c, abc } = await given();
      const other = jsonEvent({ id: c.id, type: 'OtherHappened', data: { other: true } });
      expect(await append(stream, 1n, other)).to.deep.equal(abc);
    });

    it('reads the cache of recent ids when any revision is accepted', async () => {
      const { stream, a, b, c, d, ab } = await given();
      expect(await append(stream, ANY, [a, b])).to.deep.equal(ab);
      expect(await append(stream, STREAM_EXISTS, [b, a])).to.include({ nextExpectedRevision: 0n });
      expect((await refusal(append(stream, ANY, [c, d]))).expectedVersion).to.equal('any');
      expect(await append(stream, ANY, [d, c])).to.include({ nextExpectedRevision: 4n });
      expect(await append(freshStream(), ANY, a)).to.include({ nextExpectedRevision: 0n });
    });
  });

  it('writes an id twice when one append contains it twice', async () => {
    const stream = freshStream();
    const event = happened();
    expect(await append(stream, NO_STREAM, [event, event])).to.include({ nextExpectedRevision: 1n });
    expect(await streamIds(stream)).to.deep.equal([event.id, event.id]);
  });

  it('recognises an id by its first place in any stream', async () => {
    const [stream, other] = [freshStream(), freshStream()];
    const event = happened();
    const { position } = await append(stream, NO_STREAM, event);
    await append(stream, 0n, event);
    expect(await append(stream, ANY, event)).to.deep.include({ nextExpectedRevision: 0n, position });
    for (const revision of [0n, 1n]) {
      expect(await append(other, ANY, event)).to.include({ nextExpectedRevision: revision });
    }
  });

  it('accepts 1 MiB of data and stores nothing when data is one byte larger', async () => {
    const stream = freshStream();
    const binary = (bytes: number) =>
      binaryEvent({ type: 'Large', data: new Uint8Array(bytes), metadata: new Uint8Array(9) });
    expect(await append(stream, NO_STREAM, binary(MIB))).to.include({ nextExpectedRevision: 0n });
    for (const events of [binary(MIB + 1), [binary(MIB), binary(1)]]) {
      const error = await rejection(append(stream, 0n, events), MaxAppendSizeExceededError);
      expect(error.maxAppendSize).to.equal(MIB);
    }
    expect(await append(stream, 0n, happened())).to.include({ nextExpectedRevision: 1n });
  });

  it('refuses ids that are no UUID, empty types and empty names, and serves the next append', async () => {
    const badId = jsonEvent({ id: 'no-uuid', type: 'Bad', data: {} });
    const zeroId = jsonEvent({ id: '00000000-0000-0000-0000-000000000000', type: 'Bad', data: {} });
    for (const event of [badId, zeroId, happened({}, '')]) {
      expect(await rejection(append(freshStream(), NO_STREAM, event))).to.have.property('type', 'unknown');
    }
    // A server with users looks first whether this one may write there.
    const nameless = await rejection(append('', NO_STREAM, happened()));
    expect(nameless).to.have.property('type').that.is.oneOf(['unknown', 'access-denied']);
    expect(await append(freshStream(), NO_STREAM, happened())).to.include({ nextExpectedRevision: 0n });
  });

  it('returns data, metadata, content type and bytes unchanged', async () => {
    const stream = freshStream();
    const data = { text: 'Grüße, 世界 ✉', list: [1, 2.5, null], deep: { yes: true } };
    await append(stream, NO_STREAM, [
      jsonEvent({ type: 'Jason', data, metadata: { $correlationId: 'c1' } }),
      binaryEvent({ type: 'Bytes', data: Uint8Array.of(0, 255, 128), metadata: Uint8Array.of(1, 0, 2) }),
      jsonEvent({ type: 'Bare', data: {} }),
    ]);
    const seen: unknown[] = [];
    for await (const { event } of store().client.readStream(stream)) {
      seen.push([event?.type, event?.isJson, event?.data, event?.metadata]);
      expect(Math.abs(Date.now() - Number(event?.created))).to.be.below(60_000);
    }
    expect(seen).to.deep.equal([
      ['Jason', true, data, { $correlationId: 'c1' }],
      ['Bytes', false, Uint8Array.of(0, 255, 128), Uint8Array.of(1, 0, 2)],
      ['Bare', true, {}, undefined],
    ]);
  });

  it('writes nothing when the deadline of the append has passed', async () => {
    const stream = freshStream();
    const late = store().client.appendToStream(stream, happened(), {
      ...store().appendOptions,
      expectedRevision: NO_STREAM,
      deadline: -1_000,
    });
    expect(await rejection(late)).to.have.property('type', 'deadline-exceeded');
    expect(await append(stream, NO_STREAM, happened())).to.include({ nextExpectedRevision: 0n });
  });
});
