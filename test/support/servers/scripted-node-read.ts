/** One read or subscription as a script of a scripted node sees it. */
import type { ServerWritableStream, status } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { callError } from '../../../infra/event-store/node/call-errors.ts';
import type { ScriptedEvent, ScriptedLog } from './scripted-node-log.ts';

const { ReadReq, ReadResp } = streams;

export type ReadCall = ServerWritableStream<streams.ReadReq, streams.ReadResp>;

export class ScriptedRead {
  readonly call: ReadCall;
  readonly isSubscription: boolean;
  /** The read requests one event of `$all` at a position. */
  readonly isLook: boolean;
  /** Its start: a position of `$all` or a revision; -1 = the beginning. */
  readonly from: number;
  /** The prepare number of a position of `$all`. */
  readonly prepare: number;
  /** The stream, or null for `$all`. */
  readonly stream: string | null;
  /** The connection of the call. */
  readonly peer: string;
  readonly #log: ScriptedLog;
  readonly #options: streams.ReadReq.Options;

  constructor(call: ReadCall, log: ScriptedLog) {
    this.call = call;
    this.peer = call.getPeer();
    this.#log = log;
    this.#options = call.request.getOptions() ?? new ReadReq.Options();
    const { stream, from, prepare } = placeOf(this.#options);
    this.stream = stream;
    this.from = from;
    this.prepare = prepare ?? from;
    this.isSubscription = this.#options.hasSubscription();
    this.isLook = prepare !== null && this.#options.getCount() === '1';
  }

  /** Answers as a well-behaved node does. */
  answer(): void {
    if (this.isSubscription) this.#follow();
    else this.#finish();
  }

  confirm(): void {
    const confirmation = new ReadResp.SubscriptionConfirmation().setSubscriptionId('scripted');
    this.call.write(new ReadResp().setConfirmation(confirmation));
  }

  caughtUp(): void {
    this.call.write(new ReadResp().setCaughtUp(new ReadResp.CaughtUp()));
  }

  checkpoint(commit: number | bigint, prepare = commit): void {
    const checkpoint = new ReadResp.Checkpoint().setCommitPosition(String(commit));
    this.call.write(new ReadResp().setCheckpoint(checkpoint.setPreparePosition(String(prepare))));
  }

  event({ id, stream, revision, position, type, data }: ScriptedEvent): void {
    const recorded = new ReadResp.ReadEvent.RecordedEvent()
      .setId(new shared.UUID().setString(id))
      .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream)))
      .setStreamRevision(String(revision))
      .setPreparePosition(String(position))
      .setCommitPosition(String(position))
      .setData(data);
    for (const [key, value] of [
      ['type', type],
      ['content-type', 'application/json'],
      ['created', '17000000000000000'],
    ] as const) {
      recorded.getMetadataMap().set(key, value);
    }
    const read = new ReadResp.ReadEvent().setEvent(recorded).setCommitPosition(String(position));
    this.call.write(new ReadResp().setEvent(read));
  }

  fail(code: status, details: string, trailers?: Record<string, string>): void {
    this.call.emit('error', callError(code, details, trailers));
  }

  #finish(): void {
    const { stream } = this;
    const backwards = this.#options.getReadDirection() === ReadReq.Options.ReadDirection.BACKWARDS;
    const all = stream === null ? this.#log.events : this.#log.stream(stream);
    const found = all.filter(
      ({ revision, position }) => backwards || (stream === null ? position : revision) >= this.from,
    );
    const events = (backwards ? found.toReversed() : found).slice(0, Number(this.#options.getCount()));
    if (stream !== null && all.length === 0) {
      const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
      const missing = new ReadResp.StreamNotFound().setStreamIdentifier(identifier);
      this.call.write(new ReadResp().setStreamNotFound(missing));
    }
    for (const event of events) this.event(event);
    this.call.end();
  }

  #follow(): void {
    let last = this.prepare < this.from ? this.from - 1 : this.from;
    const send = (): void => {
      for (const event of this.#log.events.filter(({ position }) => position > last)) {
        last = event.position;
        this.event(event);
      }
    };
    this.confirm();
    send();
    this.caughtUp();
    const stop = this.#log.onWritten(send);
    for (const ending of ['cancelled', 'close']) this.call.once(ending, stop);
  }
}

function placeOf(options: streams.ReadReq.Options): {
  readonly stream: string | null;
  readonly from: number;
  readonly prepare: number | null;
} {
  const one = options.getStream();
  if (one) {
    const stream = Buffer.from(one.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString();
    return { stream, from: one.hasRevision() ? Number(one.getRevision()) : -1, prepare: null };
  }
  const place = options.getAll()?.getPosition();
  if (!place) return { stream: null, from: -1, prepare: null };
  return {
    stream: null,
    from: Number(place.getCommitPosition()),
    prepare: Number(place.getPreparePosition()),
  };
}
