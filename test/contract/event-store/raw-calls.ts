/** Calls as they are on the wire, for what the client does not say or show. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { credentials } from '@grpc/grpc-js';
import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';

const { AppendReq, BatchAppendReq, DeleteReq, ReadReq } = streams;
export const empty = (): shared.Empty => new shared.Empty();

export const named = (stream: string): shared.StreamIdentifier => {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(stream));
  return identifier;
};

export const uuid = (text: string = randomUUID()): shared.UUID => new shared.UUID().setString(text);

/** A proposed event with the properties given. */
export function proposed(
  properties: Readonly<Record<string, string>> = { type: 'Raw', 'content-type': 'application/json' },
): streams.BatchAppendReq.ProposedMessage {
  const message = new BatchAppendReq.ProposedMessage().setId(uuid());
  message.setData(Buffer.from('{}'));
  for (const [name, value] of Object.entries(properties)) message.getMetadataMap().set(name, value);
  return message;
}

type BatchCall = ClientDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>;

export class RawCalls {
  readonly #client: streamsService.StreamsClient;
  readonly #gossip: gossipService.GossipClient;

  constructor(url: string) {
    const { host } = new URL(url);
    this.#client = new streamsService.StreamsClient(host, credentials.createInsecure());
    this.#gossip = new gossipService.GossipClient(host, credentials.createInsecure());
  }

  close(): void {
    this.#client.close();
    this.#gossip.close();
  }

  batch(): BatchCall {
    const call = this.#client.batchAppend();
    call.on('error', () => undefined); // tests cancel it
    return call;
  }

  /** One unary append: its options, then its events. */
  append(
    options: streams.AppendReq.Options,
    events: readonly streams.AppendReq.ProposedMessage[],
  ): Promise<streams.AppendResp> {
    return new Promise((resolve, reject) => {
      const call = this.#client.append((error, answer) => {
        if (error) reject(error);
        else resolve(answer);
      });
      call.write(new AppendReq().setOptions(options));
      for (const event of events) call.write(new AppendReq().setProposedMessage(event));
      call.end();
    });
  }

  /** A soft delete expecting that the stream exists, which the client cannot say. */
  deleteExisting(stream: string): Promise<streams.DeleteResp> {
    const options = new DeleteReq.Options().setStreamIdentifier(named(stream)).setStreamExists(empty());
    return new Promise((resolve, reject) => {
      this.#client.delete(new DeleteReq().setOptions(options), (error, answer) => {
        if (error) reject(error);
        else resolve(answer);
      });
    });
  }

  /** Every answer of a read that ends; rejects with the status it ends with. */
  async read(options: streams.ReadReq.Options): Promise<streams.ReadResp[]> {
    if (!options.hasUuidOption()) options.setUuidOption(new ReadReq.Options.UUIDOption().setString(empty()));
    const call = this.#client.read(new ReadReq().setOptions(options));
    const answers: streams.ReadResp[] = [];
    call.on('data', (answer: streams.ReadResp) => answers.push(answer));
    await once(call, 'end');
    return answers;
  }

  /** A subscription to `$all` from its end. */
  subscribe(): { readonly isConfirmed: boolean; cancel(): void } {
    const options = new ReadReq.Options().setAll(new ReadReq.Options.AllOptions().setEnd(empty()));
    options.setSubscription(new ReadReq.Options.SubscriptionOptions()).setNoFilter(empty());
    options.setUuidOption(new ReadReq.Options.UUIDOption().setString(empty()));
    const call = this.#client.read(new ReadReq().setOptions(options));
    let isConfirmed = false;
    call.on('error', () => undefined); // tests cancel it
    call.once('data', () => {
      isConfirmed = true;
    });
    return {
      get isConfirmed() {
        return isConfirmed;
      },
      cancel: () => {
        call.cancel();
      },
    };
  }

  instanceId(): Promise<shared.UUID | undefined> {
    return new Promise((resolve, reject) => {
      this.#gossip.read(empty(), (error, info) => {
        if (error) reject(error);
        else resolve(info.getMembersList()[0]?.getInstanceId());
      });
    });
  }
}

/** The next answer of a batch call. */
export async function nextAnswer(call: BatchCall): Promise<streams.BatchAppendResp> {
  const [answer] = (await once(call, 'data', { signal: AbortSignal.timeout(5_000) })) as [
    streams.BatchAppendResp,
  ];
  return answer;
}

/** Status, text and the trailers the client tells errors apart by. */
export async function statusOf(promise: Promise<unknown>): Promise<Record<string, unknown>> {
  const error = await promise.then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason as ServiceError,
  );
  if (!('code' in error)) throw error;
  const trailers = Object.entries(error.metadata.getMap()).filter(([name]) => !TRANSPORT.includes(name));
  return { code: error.code, details: error.details, ...Object.fromEntries(trailers) };
}

const TRANSPORT = ['content-type', 'date', 'server', 'content-length'];
