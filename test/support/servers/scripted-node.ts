/**
 * An event store node with scripted misbehaviour: every feature probe, append and read runs the next script
 * of its kind. Without a script it behaves correctly, with a small log of its own.
 */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import type features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import { supportedMethods } from '../../../infra/event-store/node/node-description.ts';
import { sharedAppend, unaryAppend } from './scripted-node-append.ts';
import type { ScriptedAppend, SharedCall } from './scripted-node-append.ts';
import { ScriptedLog } from './scripted-node-log.ts';
import { ScriptedRead } from './scripted-node-read.ts';
import type { ReadCall } from './scripted-node-read.ts';

export type Script<Call> = (call: Call) => void;

/** The scripts for the calls of one kind: one each, then the default. */
export class Scripts<Call> {
  readonly calls: Call[] = [];
  #next: Script<Call>[] = [];
  #usual: Script<Call>;

  constructor(usual: Script<Call>) {
    this.#usual = usual;
  }

  /** Scripts for the next calls, one each. */
  once(...scripts: Script<Call>[]): void {
    this.#next.push(...scripts);
  }

  /** The script for every call after those. */
  always(script: Script<Call>): void {
    this.#usual = script;
  }

  run(call: Call): void {
    this.calls.push(call);
    (this.#next.shift() ?? this.#usual)(call);
  }

  /** Runs the default, without using up a script. */
  asUsual(call: Call): void {
    this.#usual(call);
  }
}

export type FeatureProbe = sendUnaryData<features.SupportedMethods>;

export class ScriptedNode {
  /** Assign another one to simulate a replaced store. */
  log = new ScriptedLog();
  readonly probes: Scripts<FeatureProbe>;
  readonly appends = new Scripts<ScriptedAppend>((append) => {
    this.write(append);
  });
  readonly reads = new Scripts<ScriptedRead>((read) => {
    read.answer();
  });
  /** Reads of one event of `$all` that test whether it is still at its position, by default like others. */
  readonly looks = new Scripts<ScriptedRead>((read) => {
    this.reads.asUsual(read);
  });
  /** Shared append calls, newest last. */
  readonly sharedCalls: SharedCall[] = [];
  #server: Server | null = null;
  #port = 0;

  private constructor(batchAppend: boolean) {
    this.probes = new Scripts((reply) => {
      reply(null, supportedMethods(batchAppend));
    });
  }

  static async start(options: { batchAppend?: boolean } = {}): Promise<ScriptedNode> {
    const node = new ScriptedNode(options.batchAppend ?? true);
    await node.listen();
    return node;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `esdb://127.0.0.1:${String(this.#port)}?tls=false`;
  }

  /** Writes an append and reports it. */
  write(append: ScriptedAppend): void {
    append.tell(this.log.write(append.stream, append.expected, append.events));
  }

  /** Writes an append without reporting it. */
  writeSilently({ stream, expected, events }: ScriptedAppend): void {
    this.log.write(stream, expected, events);
  }

  /** Accepts connections, on the same port each time. */
  async listen(): Promise<void> {
    const server = new Server();
    server.addService(featuresService.ServerFeaturesService, {
      getSupportedMethods: (_call: ServerUnaryCall<unknown, unknown>, reply: FeatureProbe) => {
        this.probes.run(reply);
      },
    });
    server.addService(streamsService.StreamsService, {
      read: (call: ReadCall) => {
        const read = new ScriptedRead(call, this.log);
        (read.isLook ? this.looks : this.reads).run(read);
      },
      append: (call: Parameters<typeof unaryAppend>[0], reply: Parameters<typeof unaryAppend>[1]) => {
        unaryAppend(call, reply, (append) => {
          this.appends.run(append);
        });
      },
      batchAppend: (call: SharedCall) => {
        this.sharedCalls.push(call);
        call.on('data', (message: streams.BatchAppendReq) => {
          this.appends.run(sharedAppend(call, message));
        });
      },
      delete: () => undefined,
      tombstone: () => undefined,
    });
    this.#server = server;
    this.#port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(
        `127.0.0.1:${String(this.#port)}`,
        ServerCredentials.createInsecure(),
        (error, port) => {
          if (error) reject(error);
          else resolve(port);
        },
      );
    });
  }

  /** Closes every connection and refuses new ones. */
  stop(): void {
    this.#server?.forceShutdown();
    this.#server = null;
  }
}
