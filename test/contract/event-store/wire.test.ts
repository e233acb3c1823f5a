/** The answers as they are on the wire: codes, texts and trailers that a real 24.6 server was seen to send. */
import { once } from 'node:events';
import { expect } from 'chai';
import { NO_STREAM } from '@eventstore/db-client';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import emptyMessages from 'google-protobuf/google/protobuf/empty_pb.js';
import { status } from '@grpc/grpc-js';
import { eventually } from '../../support/suite/eventually.ts';
import { RawCalls, empty, named, nextAnswer, proposed, statusOf, uuid } from './raw-calls.ts';
import { describeEmbedded, freshStream, happened, numbered } from './store-under-test.ts';

const { AppendReq, BatchAppendReq, ReadReq } = streams;

/** In batch requests "nothing" is the library's own type. */
const nothing = () => new emptyMessages.Empty();

describeEmbedded('the wire protocol', (store) => {
  let raw: RawCalls;
  beforeEach(() => {
    raw = new RawCalls(store().url);
  });
  afterEach(() => {
    raw.close();
  });

  const given = async (count = 1): Promise<string> => {
    const stream = freshStream();
    await store().client.appendToStream(stream, numbered(count), { expectedRevision: NO_STREAM });
    return stream;
  };

  describe('batch append', () => {
    const options = (stream: string) => new BatchAppendReq.Options().setStreamIdentifier(named(stream));
    const request = (message = options(freshStream()).setNoStream(nothing())) =>
      new BatchAppendReq()
        .setCorrelationId(uuid())
        .setOptions(message)
        .setProposedMessagesList([proposed()])
        .setIsFinal(true);

    const refused = async (message: streams.BatchAppendReq) => {
      const call = raw.batch();
      call.write(message);
      const answer = await nextAnswer(call);
      call.cancel();
      expect(answer.getCorrelationId()?.toObject()).to.deep.equal(message.getCorrelationId()?.toObject());
      expect(answer.hasStreamIdentifier()).to.equal(true);
      const error = answer.getError();
      return [error?.getCode(), error?.getMessage(), error?.getDetails()?.getTypeName()];
    };

    it('names refusals by code, text and type', async () => {
      const stream = await given();
      const CLIENT = 'event_store.client.';
      const wrong = request(options(stream).setNoStream(nothing()));
      expect(await refused(wrong)).to.deep.equal([
        6,
        'WrongExpectedVersion',
        `${CLIENT}WrongExpectedVersion`,
      ]);
      await store().client.deleteStream(stream);
      const deleted = request(options(stream).setStreamExists(nothing()));
      expect(await refused(deleted)).to.deep.equal([5, 'StreamDeleted', `${CLIENT}StreamDeleted`]);
      const BAD = [3, 'BadRequest', `${CLIENT}BadRequest`];
      expect(await refused(request(options(freshStream())))).to.deep.equal(BAD);
      expect(await refused(request(options('').setNoStream(nothing())))).to.deep.equal(BAD);
      expect(await refused(request().setProposedMessagesList([proposed({ type: 'Raw' })]))).to.deep.equal(
        BAD,
      );
      const large = proposed().setData(Buffer.alloc(1_048_577));
      expect(await refused(request().setProposedMessagesList([large]))).to.deep.equal([
        3,
        'MaximumAppendSizeExceeded',
        `${CLIENT}MaximumAppendSizeExceeded`,
      ]);
    });

    it('refuses chunks without a correlation id and never answers a first chunk without options', async () => {
      const call = raw.batch();
      call.write(new BatchAppendReq().setCorrelationId(uuid()).setIsFinal(true));
      const bare = request();
      bare.clearCorrelationId();
      call.write(bare);
      expect((await nextAnswer(call)).getError()?.getMessage()).to.equal('BadRequest');
      const good = request();
      call.write(good);
      const answer = await nextAnswer(call);
      expect(answer.getCorrelationId()?.getString()).to.equal(good.getCorrelationId()?.getString());
      call.cancel();
    });

    it('joins chunks by their correlation id when others arrive between them', async () => {
      const [one, two] = [freshStream(), freshStream()];
      const call = raw.batch();
      const [first, second] = [one, two].map((stream) =>
        request(options(stream).setNoStream(nothing())).setIsFinal(false),
      ) as [streams.BatchAppendReq, streams.BatchAppendReq];
      call.write(first);
      call.write(second);
      for (const { correlation, stream } of [
        { correlation: second.getCorrelationId(), stream: two },
        { correlation: first.getCorrelationId(), stream: one },
      ]) {
        const last = new BatchAppendReq().setCorrelationId(correlation).setIsFinal(true);
        call.write(last.setProposedMessagesList([proposed()]));
        const answer = await nextAnswer(call);
        expect(Buffer.from(answer.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString()).to.equal(
          stream,
        );
        expect(answer.getSuccess()?.getCurrentRevision()).to.equal('1');
      }
      call.cancel();
    });

    it('ends the call when a client begins far more appends than it finishes', async () => {
      const call = raw.batch();
      const ended = statusOf(
        once(call, 'error', { signal: AbortSignal.timeout(8_000) }).then(([error]) => {
          throw error;
        }),
      );
      const data = new Uint8Array(900_000);
      for (let n = 0; n < 60; n += 1) {
        call.write(
          request()
            .setProposedMessagesList([proposed().setData(data)])
            .setIsFinal(false),
        );
      }
      expect(await ended).to.include({ code: status.RESOURCE_EXHAUSTED });
    });

    it('keeps the call open when the client has nothing more to send', async () => {
      const call = raw.batch();
      let ended = false;
      call.on('end', () => {
        ended = true;
      });
      call.write(request());
      call.end();
      await nextAnswer(call);
      await given(); // a round trip over the same connection later it would have ended
      expect(ended).to.equal(false);
      call.cancel();
    });
  });

  describe('unary append and delete', () => {
    const options = (stream = freshStream()) => new AppendReq.Options().setStreamIdentifier(named(stream));
    const append = (
      message: streams.AppendReq.Options,
      properties?: Readonly<Record<string, string>>,
    ): Promise<streams.AppendResp> => {
      const event = AppendReq.ProposedMessage.deserializeBinary(proposed(properties).serializeBinary());
      return raw.append(message, [event]);
    };

    it('ends with the status and trailers that the client reads', async () => {
      expect(await statusOf(append(options()))).to.include({ code: status.INVALID_ARGUMENT });
      expect(await statusOf(append(options().setAny(empty()), { type: 'Raw' }))).to.deep.equal({
        code: status.INVALID_ARGUMENT,
        details: "Required Metadata Property 'type' is missing",
        exception: 'missing-required-metadata-property',
        'required-metadata-properties': 'type,content-type',
      });
      const handlerThrew = { code: status.UNKNOWN, details: 'Exception was thrown by handler.' };
      expect(await statusOf(append(options('').setAny(empty())))).to.deep.equal(handlerThrew);
      const stream = await given();
      await raw.deleteExisting(stream);
      expect(await statusOf(append(options(stream).setStreamExists(empty())))).to.deep.equal({
        code: status.FAILED_PRECONDITION,
        details: `Event stream '${stream}' is deleted.`,
        exception: 'stream-deleted',
        'stream-name': stream,
      });
      expect(await statusOf(raw.deleteExisting(stream))).to.include({ exception: 'stream-deleted' });
      const missing = freshStream();
      expect(await statusOf(raw.deleteExisting(missing))).to.deep.equal({
        code: status.FAILED_PRECONDITION,
        details: `Delete failed due to WrongExpectedVersion. Stream: ${missing}, Expected version: -4, Actual version: -1`,
        exception: 'wrong-expected-version',
        'stream-name': missing,
        'expected-version': '-4',
        'actual-version': '-1',
      });
    });

    it('accepts an append of no events when its expectation is met, and creates no stream', async () => {
      const stream = freshStream();
      const taken = await raw.append(options(stream).setNoStream(empty()), []);
      expect(taken.getSuccess()?.hasNoStream()).to.equal(true);
      const refusal = await raw.append(options(stream).setRevision('4'), []);
      expect(refusal.hasWrongExpectedVersion()).to.equal(true);
      await store().client.appendToStream(stream, happened(), { expectedRevision: NO_STREAM });
      const again = await raw.append(options(stream).setRevision('0'), []);
      expect(again.getSuccess()?.getCurrentRevision()).to.equal('0');
    });
  });

  describe('read', () => {
    const all = () =>
      new ReadReq.Options().setAll(new ReadReq.Options.AllOptions().setStart(empty())).setCount('100000');
    const filter = (prefix: string, regex = '') => {
      const expression = new ReadReq.Options.FilterOptions.Expression().setPrefixList(prefix ? [prefix] : []);
      const options = new ReadReq.Options.FilterOptions().setStreamIdentifier(expression.setRegex(regex));
      return options.setMax(32).setCheckpointintervalmultiplier(1);
    };

    it('filters a finite read of $all, which the client never requests', async () => {
      const stream = await given(3);
      await given(3);
      const answers = await raw.read(all().setFilter(filter(stream)));
      const revisions = answers.map((answer) => answer.getEvent()?.getEvent()?.getStreamRevision());
      expect(revisions).to.deep.equal(['0', '1', '2']);
      const counted = await raw.read(all().setCount('2').setFilter(filter(stream)));
      expect(counted).to.have.length(2);
      // As .NET takes it: an escape that a strict JavaScript expression would refuse.
      expect(
        await raw.read(all().setFilter(filter('', `^${stream.replaceAll('-', '\\-')}$`))),
      ).to.have.length(3);
    });

    it('ends invalid reads with UNKNOWN and backward subscriptions with INVALID_ARGUMENT', async () => {
      await given();
      const at = new ReadReq.Options.Position().setCommitPosition('1').setPreparePosition('2');
      const senseless = [
        all().setFilter(filter('', '(')),
        all().setFilter(filter('x').setMax(0)),
        all().setFilter(filter('x').setCheckpointintervalmultiplier(0)),
        all().setAll(new ReadReq.Options.AllOptions().setPosition(at)).setNoFilter(empty()),
      ];
      for (const options of senseless) {
        expect(await statusOf(raw.read(options))).to.include({ code: status.UNKNOWN });
      }
      const stream = new ReadReq.Options.StreamOptions()
        .setStreamIdentifier(named(freshStream()))
        .setStart(empty());
      const backwards = new ReadReq.Options().setStream(stream).setNoFilter(empty());
      backwards.setSubscription(new ReadReq.Options.SubscriptionOptions());
      backwards.setReadDirection(ReadReq.Options.ReadDirection.BACKWARDS);
      expect(await statusOf(raw.read(backwards))).to.deep.equal({
        code: status.INVALID_ARGUMENT,
        details: 'The combination of (Stream, Subscription, Backwards, NoFilter) is invalid.',
      });
    });
  });

  it('limits a connection to one hundred calls', async () => {
    const calls = Array.from({ length: 101 }, () => raw.subscribe());
    const confirmed = () => calls.filter(({ isConfirmed }) => isConfirmed).length;
    await eventually(() => confirmed() === 100);
    await given(); // over another connection, which has room
    expect(confirmed()).to.equal(100);
    for (const call of calls) call.cancel();
  });

  it('sends the instance id of gossip in two halves', async () => {
    expect((await raw.instanceId())?.hasStructured()).to.equal(true);
  });
});
