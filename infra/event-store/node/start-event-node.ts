/**
 * The embedded event node: speaks the EventStoreDB protocol on loopback and stores the log in Postgres. For
 * development, tests and small installations; one process, no replication beyond that of Postgres.
 * Unsupported calls return UNIMPLEMENTED.
 */
import type { EventEmitter } from 'node:events';
import type { Server as NetServer, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { Metadata, ServerUnaryCall, ServiceDefinition, sendUnaryData } from '@grpc/grpc-js';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { batchAppendCall } from './batch-append-call.ts';
import { EventLog } from './event-log.ts';
import type { EventLogOptions } from './event-log.ts';
import { callError } from './call-errors.ts';
import { clusterOfOne, supportedMethods } from './node-description.ts';
import type { NodeAccess } from './node-access.ts';
import { OpenCalls } from './open-calls.ts';
import { readCall } from './read-call.ts';
import { appendCall, deleteCall, tombstoneCall } from './unary-writes.ts';

export interface EventNodeOptions extends Omit<EventLogOptions, 'lockTimeoutMs' | 'onOvertaken'> {
  /** A loopback address. */
  readonly host: string;
  /** Null = no TLS, and every client that reaches the port may read and append. */
  readonly access: NodeAccess | null;
  /** 0 = any free port. */
  readonly port: number;
  /** False removes BatchAppend from the advertised features, so clients append one call at a time. */
  readonly batchAppend: boolean;
  readonly lockTimeoutMs?: number;
  /** The interval of pings on a connection, and how long the client may take to answer. */
  readonly keepAlive?: { readonly everyMs: number; readonly timeoutMs: number };
}

export interface EventNode {
  /** For other processes: over TLS if `access` is set. */
  readonly url: string;
  /** For this process: without TLS, which would cost a third of the append throughput. */
  readonly ownUrl: string;
  readonly port: number;
  /** Open reads, subscriptions and batch appends. */
  readonly openCalls: number;
  /** Finishes the current commit, ends every call and releases the writer's lock. */
  stop(): Promise<void>;
}

/** The limit of the client's channel. */
const MOST_MESSAGE_BYTES = 17 * 1_048_576;

/** Per connection, as on a real server; further calls wait in the client until one ends. */
const MOST_CALLS = 100;

/** A real server pings after 10 s; its client gives up on a server after the same time. */
const KEEP_ALIVE = { everyMs: 10_000, timeoutMs: 10_000 };

/** How long calls may take to end after the log has stopped. */
const SHUTDOWN_GRACE_MS = 200;

/** Starts the node. Throws `WriterLockHeld` when another node writes, or an error when the port is taken. */
export async function startEventNode(options: EventNodeOptions): Promise<EventNode> {
  const calls = new OpenCalls();
  const log = await EventLog.open({
    ...options,
    lockTimeoutMs: options.lockTimeoutMs ?? 5_000,
    onOvertaken: () => {
      calls.endAll();
    },
  });
  const keepAlive = options.keepAlive ?? KEEP_ALIVE;
  const server = new Server({
    'grpc.max_receive_message_length': MOST_MESSAGE_BYTES,
    'grpc.max_send_message_length': MOST_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': MOST_CALLS,
    'grpc.keepalive_time_ms': keepAlive.everyMs,
    'grpc.keepalive_timeout_ms': keepAlive.timeoutMs,
  });
  const { host, access } = options;
  let port = 0;
  let ownPort = 0;
  addServices({ server, log, calls, port: () => port }, options);
  try {
    const plain = ServerCredentials.createInsecure();
    port = await bind(server, `${host}:${String(options.port)}`, access?.credentials ?? plain);
    ownPort = access === null ? port : await bind(server, `${host}:0`, plain);
  } catch (error) {
    server.forceShutdown();
    await log.stop();
    throw error;
  }
  const sockets = socketsOf(server);
  const plainUrl = `esdb://${host}:${String(port)}?tls=false`;
  return {
    url: access?.urlAt(port) ?? plainUrl,
    ownUrl: access?.ownUrlAt(ownPort) ?? plainUrl,
    port,
    get openCalls() {
      return calls.count;
    },
    stop: async () => {
      await log.stop();
      calls.endAll();
      await shutDown(server, sockets);
    },
  };
}

interface NodeParts {
  readonly server: Server;
  readonly log: EventLog;
  readonly calls: OpenCalls;
  readonly port: () => number;
}

function addServices({ server, log, calls, port }: NodeParts, options: EventNodeOptions): void {
  // Events are sent as encoded by the node, without the generated encoder.
  const service: ServiceDefinition = {
    ...streamsService.StreamsService,
    read: { ...streamsService.StreamsService.read, responseSerialize: (bytes: Buffer) => bytes },
  };
  const isSignedIn = options.access?.isSignedIn ?? (() => true);
  server.addService(service, {
    read: streaming(isSignedIn, readCall(log, calls, options.log)),
    append: answering(isSignedIn, appendCall(log)),
    delete: answering(isSignedIn, deleteCall(log)),
    tombstone: answering(isSignedIn, tombstoneCall(log)),
    batchAppend: streaming(isSignedIn, batchAppendCall(log, calls)),
  });
  // Features and gossip require no password but refuse a wrong one, so that a client notices at once.
  const isNotRefused = (metadata: Metadata): boolean =>
    metadata.get('authorization').length === 0 || isSignedIn(metadata);
  const methods = supportedMethods(options.batchAppend);
  const cluster = clusterOfOne(options.host);
  const tell = (answer: () => unknown) =>
    answering(isNotRefused, (_call: ServerUnaryCall<unknown, unknown>, reply: sendUnaryData<unknown>) => {
      reply(null, answer());
    });
  server.addService(featuresService.ServerFeaturesService, { getSupportedMethods: tell(() => methods) });
  server.addService(gossipService.GossipService, { read: tell(() => cluster(port())) });
}

type IsAllowed = (metadata: Metadata) => boolean;

/** The status of a real server for a wrong password. */
const unauthenticated = () => callError(status.UNAUTHENTICATED, 'Unauthenticated');

/** The handler of a call with one answer, for allowed callers. */
const answering =
  <Call extends { readonly metadata: Metadata }, Answer>(
    isAllowed: IsAllowed,
    handler: (call: Call, reply: sendUnaryData<Answer>) => void,
  ) =>
  (call: Call, reply: sendUnaryData<Answer>): void => {
    if (isAllowed(call.metadata)) handler(call, reply);
    else reply(unauthenticated());
  };

/** The handler of a call with many answers, for allowed callers. */
const streaming =
  <Call extends EventEmitter & { readonly metadata: Metadata }>(
    isAllowed: IsAllowed,
    handler: (call: Call) => void,
  ) =>
  (call: Call): void => {
    if (isAllowed(call.metadata)) handler(call);
    else call.emit('error', unauthenticated());
  };

const bind = (server: Server, address: string, credentials: ServerCredentials): Promise<number> =>
  new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });

/**
 * The connections of the bound listeners. The server knows a connection only after the TLS handshake; one
 * that stays silent before would delay the shutdown by two minutes. The listeners are private, and the same
 * in all of 1.x.
 */
function socketsOf(server: Server): ReadonlySet<Socket> {
  const { http2Servers } = server as unknown as { http2Servers: ReadonlyMap<NetServer, unknown> };
  const sockets = new Set<Socket>();
  for (const listener of http2Servers.keys()) {
    listener.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
  }
  return sockets;
}

/**
 * A caller that does not read never sees its call end: remaining connections close after a short grace. The
 * server does not report the end of a session that broke as the shutdown began: Node's `Http2Session.close`
 * drops its callback then. So neither wait is without a bound.
 */
async function shutDown(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    server.tryShutdown(() => {
      resolve();
    });
  });
  await Promise.race([ended, delay(SHUTDOWN_GRACE_MS)]);
  server.forceShutdown();
  for (const socket of sockets) socket.destroy();
  await Promise.race([ended, delay(SHUTDOWN_GRACE_MS)]);
}
