/**
 * The official client with its own connection, hardened: replies without a waiting call are dropped instead
 * of ending the process, and a retired client sends nothing more.
 */
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import { connectivityState } from '@grpc/grpc-js';
import type { CallOptions, Channel, Metadata } from '@grpc/grpc-js';
import type { Log } from '../../commands/ports/ports.ts';
import { guardSharedAppendCall } from './shared-append-call.ts';
import type { Credentials } from '@eventstore/db-client';

/** The client's default; also the time a server has to answer a ping. */
const KEEP_ALIVE_TIMEOUT_MS = 10_000;

/** The client's "never" (-1) overflows a timer and would mean "immediately". */
const NEVER_MS = 2_000_000_000;

/** Numbers that distinguish connections; each adds that many milliseconds to the timeout. */
const MOST_NUMBERS = 1_000;

/** How long the calls of an unresponsive client may take to end. */
const MOST_DISPOSE_MS = 500;

type GrpcClient = Readonly<{ getChannel(): Channel }>;
type GrpcStream = Readable | Writable | Duplex;
type OpenStream = (client: GrpcClient) => GrpcStream;

/**
 * The two methods every call of the client passes through, and the one that adds credentials; protected, and
 * the same in all of 6.x.
 */
interface Doors {
  GRPCStreamCreator: (
    kind: unknown,
    name: string,
    open: OpenStream,
    cache?: unknown,
  ) => () => Promise<GrpcStream>;
  execute: (kind: unknown, name: string, act: (client: GrpcClient) => unknown) => Promise<unknown>;
  callArguments: (base: object, options?: CallOptions) => [Metadata, CallOptions];
}

const numbersInUse = new Set<number>();
let lastNumber = 0;

/** The next number in rotation that no open connection has: gRPC may still hold one just released. */
function takeNumber(): number {
  for (let step = 1; step <= MOST_NUMBERS; step += 1) {
    const number = (lastNumber + step) % MOST_NUMBERS;
    if (numbersInUse.has(number)) continue;
    numbersInUse.add(number);
    lastNumber = number;
    return number;
  }
  throw new Error(`more than ${String(MOST_NUMBERS)} connections to the event store`);
}

export class StoreConnection {
  readonly client: EventStoreDBClient;
  readonly #number = takeNumber();
  #isRetired = false;
  #channel: Channel | null = null;
  #reconnects = 0;

  constructor(url: string, log: Log) {
    this.client = EventStoreDBClient.connectionString(withOwnConnection(url, this.#number));
    const doors = this.client as unknown as Doors;
    const { GRPCStreamCreator: openStream, execute } = doors;
    signInWithoutTls(doors, url);
    doors.GRPCStreamCreator = (kind, name, open, cache) =>
      openStream(
        kind,
        name,
        (client) => {
          this.#pass(client);
          const stream = open(client);
          // Only the call all appends share is cached.
          return cache === undefined ? stream : guardSharedAppendCall(stream as Duplex, log);
        },
        cache,
      );
    doors.execute = (kind, name, act) =>
      execute(kind, name, async (client) => {
        this.#pass(client);
        return await act(client);
      });
  }

  /**
   * Changes with each reconnect, before anything is received: a new connection may reach another server. Differs
   * between open connections.
   */
  get epoch(): string {
    return `${String(this.#number)}/${String(this.#reconnects)}`;
  }

  /**
   * Ends its calls and its connection. Calls still queued inside the client, for example behind the feature
   * probe, then fail instead of sending an append that was given up long ago.
   */
  async retire(): Promise<void> {
    if (this.#isRetired) return;
    this.#isRetired = true;
    await Promise.race([this.client.dispose(), delay(MOST_DISPOSE_MS, undefined, { ref: false })]);
    this.#channel?.close();
    numbersInUse.delete(this.#number);
  }

  #pass(client: GrpcClient): void {
    if (this.#isRetired) throw new Error('the connection to the event store was given up');
    const channel = client.getChannel();
    if (channel === this.#channel) return;
    this.#channel = channel;
    this.#reconnects += 1;
    this.#watch(channel, channel.getConnectivityState(false));
  }

  #watch(channel: Channel, state: connectivityState): void {
    if (state === connectivityState.SHUTDOWN || this.#channel !== channel) return;
    channel.watchConnectivityState(state, Infinity, () => {
      this.#reconnects += 1;
      this.#watch(channel, channel.getConnectivityState(false));
    });
  }
}

/**
 * A real server allows 100 calls per connection, and call 101 hangs. So a client starts at most this many; the
 * rest is for the client's own calls.
 */
export const MOST_CALLS_PER_CONNECTION = 80;

/** The connection for new calls. One that failed is replaced, and closes with its last call. */
export class CurrentConnection {
  readonly #open: () => StoreConnection;
  #current: StoreConnection | null = null;
  readonly #calls = new Map<StoreConnection, number>();

  constructor(url: string, log: Log) {
    this.#open = () => new StoreConnection(url, log);
  }

  /** The connection for one call; return it with `release`. */
  acquire(): StoreConnection {
    this.#current ??= this.#open();
    this.#calls.set(this.#current, (this.#calls.get(this.#current) ?? 0) + 1);
    return this.#current;
  }

  /** Marks a failed connection: it gets no more calls. */
  discard(connection: StoreConnection): void {
    if (this.#current === connection) this.#current = null;
  }

  release(connection: StoreConnection): void {
    const left = (this.#calls.get(connection) ?? 1) - 1;
    this.#calls.set(connection, left);
    if (left > 0 || connection === this.#current) return;
    this.#calls.delete(connection);
    void connection.retire();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#calls.keys()].map((connection) => connection.retire()));
  }
}

/**
 * Without TLS the client does not send user and password. On loopback the traffic stays on this machine, and
 * the embedded node requires them there too.
 */
function signInWithoutTls(doors: Doors, url: string): void {
  const given = credentialsIn(url);
  if (given?.isPlainLoopback !== true) return;
  const { callArguments } = doors;
  const { username, password } = given.credentials;
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  doors.callArguments = (base, callOptions) => {
    const [metadata, options] = callArguments(base, callOptions);
    metadata.set('authorization', basic);
    return [metadata, options];
  };
}

/**
 * gRPC gives channels with equal settings the same connection, and with it the limit of 100 calls and the
 * pause before the next attempt, which grows to two minutes. A timeout that differs by a millisecond gives
 * each client its own connection.
 */
function withOwnConnection(url: string, number: number): string {
  const given = /[?&]keep[_-]*alive[_-]*timeout=(-?\d+)/i.exec(url)?.[1];
  const timeoutMs = given === undefined ? KEEP_ALIVE_TIMEOUT_MS : Number(given);
  const ownMs = (timeoutMs < 0 ? NEVER_MS : timeoutMs) + number;
  const address = url.trim().replace(/\/+$/, '');
  const hasSettings = address.replace(/^[^:]+:\/\/(?:[^:]+:[^@]+@)?/, '').includes('?');
  // The client uses the last of duplicate settings.
  return `${address}${hasSettings ? '&' : '?'}keepAliveTimeout=${String(ownMs)}`;
}

/** User and password in the address of an event store. */
interface GivenCredentials {
  readonly credentials: Credentials;
  /** True for one node on this machine without TLS. */
  readonly isPlainLoopback: boolean;
}

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Null when the address contains none. */
export function credentialsIn(url: string): GivenCredentials | null {
  const match = /^[^:]+:\/\/([^:@/?]+):([^@/?]+)@([^?]*?)\/?(?:\?(.*))?$/.exec(url.trim());
  if (!match) return null;
  const [, username = '', password = '', hosts = '', settings = ''] = match;
  return {
    credentials: { username: decodeURIComponent(username), password: decodeURIComponent(password) },
    isPlainLoopback: LOOPBACK.has(hosts.replace(/:\d+$/, '')) && /(?:^|&)tls=false(?:&|$)/i.test(settings),
  };
}
