/**
 * The line between one gateway and its stores: proxies that see every message, and a point at which that
 * gateway crashes. From that moment the gateway and its environment no longer reach each other.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { type WireMessage, type WireName, WIRES } from '../servers/wire-messages.ts';

/** The n-th message to a store, and whether it is lost with the crash or processed without an answer. */
export interface CrashPoint {
  readonly wire: WireName;
  /** From 0, counted from `record` or `crashAt` on. */
  readonly index: number;
  readonly side: 'before' | 'after';
}

/** A message that passed. */
export interface Passed {
  readonly wire: WireName;
  readonly label: string;
}

/** Names of the statements that take a lease, and of all that take or release one. */
export const TAKES_LEASE = /^(lease_acquire|echo_expect_under_lease)$/;
export const OF_LEASES = /^(lease_acquire|echo_expect_under_lease|lease_release|echo_settle)$/;

export interface Target {
  readonly host: string;
  readonly port: number;
  /** For TLS connections, so that the proxy can read the messages: the target's own key and certificate. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

export class CrashLine {
  readonly #servers = new Map<WireName, Server>();
  readonly #sockets = new Set<Socket>();
  readonly #isPoint: (message: Passed) => boolean;
  #passed: Passed[] = [];
  #point: CrashPoint | null = null;
  #down = false;
  /** The action at the point; true when the line continues after it. */
  #onPoint: () => boolean = () => true;

  private constructor(isPoint: (message: Passed) => boolean) {
    this.#isPoint = isPoint;
  }

  /** Listens in front of each target; `isPoint` excludes messages that are not counted. */
  static async open(
    targets: Partial<Record<WireName, Target>>,
    isPoint: (message: Passed) => boolean = () => true,
  ): Promise<CrashLine> {
    const line = new CrashLine(isPoint);
    for (const [wire, target] of Object.entries(targets) as [WireName, Target][]) {
      const serve = (client: Socket): void => {
        line.#serve(client, wire, target);
      };
      const server = target.tls
        ? createTlsServer({ ...target.tls, ALPNProtocols: ['h2'], noDelay: true }, serve)
        : createServer({ noDelay: true }, serve);
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      line.#servers.set(wire, server);
    }
    return line;
  }

  portOf(wire: WireName): number {
    const server = this.#servers.get(wire);
    if (!server) throw new Error(`nothing listens for ${wire}`);
    return (server.address() as AddressInfo).port;
  }

  /** Counts from now on. */
  record(): void {
    this.#passed = [];
  }

  /** Every message since `record`, in the order they came. */
  get passed(): readonly Passed[] {
    return this.#passed;
  }

  /** Crashes at the point, counted from now on; resolves when it was reached. Calls `onCrash` then. */
  crashAt(point: CrashPoint, onCrash: () => void = () => undefined): Promise<void> {
    return this.#actAt(point, () => {
      onCrash();
      this.#cut();
      return false;
    });
  }

  /** Calls `onStop` at the point, counted from now on; all messages pass. Resolves when it was reached. */
  stopAt(point: CrashPoint, onStop: () => void): Promise<void> {
    return this.#actAt(point, () => {
      onStop();
      return true;
    });
  }

  /** Lets a restarted process through again. */
  restore(): void {
    this.#down = false;
  }

  async close(): Promise<void> {
    this.#cut();
    for (const server of this.#servers.values()) server.close();
    await Promise.all([...this.#servers.values()].map((server) => once(server, 'close')));
  }

  #actAt(point: CrashPoint, act: () => boolean): Promise<void> {
    this.#passed = [];
    this.#point = point;
    return new Promise((resolve) => {
      this.#onPoint = () => {
        this.#point = null;
        resolve();
        return act();
      };
    });
  }

  #cut(): void {
    this.#down = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(client: Socket, wire: WireName, target: Target): void {
    if (this.#down) {
      client.destroy();
      return;
    }
    const { host, port, tls } = target;
    const upstream = tls
      ? connectTls({ host, port, ca: tls.cert, ALPNProtocols: ['h2'] })
      : connect({ host, port, noDelay: true });
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    const read = WIRES[wire]();
    let last: WireMessage | null = null;
    client.on('data', (chunk: Buffer) => {
      for (const message of read(chunk)) {
        if (this.#down) return;
        const side = this.#meet(wire, message.label);
        if (side === 'before' && !this.#onPoint()) return;
        if (side === 'after') last = message;
        upstream.write(message.bytes);
      }
    });
    upstream.on('data', (chunk: Buffer) => {
      if (this.#down) return;
      const isPoint = last?.isAnswered(chunk) === true;
      if (isPoint) last = null;
      if (!isPoint || this.#onPoint()) client.write(chunk);
    });
  }

  /** The action at this message; null lets it pass. */
  #meet(wire: WireName, label: string | null): CrashPoint['side'] | null {
    if (label === null || !this.#isPoint({ wire, label })) return null;
    const index = this.#passed.filter((earlier) => earlier.wire === wire).length;
    this.#passed.push({ wire, label });
    const point = this.#point;
    return point?.wire === wire && point.index === index ? point.side : null;
  }
}

/** Both sides of every message that passed. */
export function crashPointsOf(
  passed: readonly Passed[],
): readonly (CrashPoint & { readonly label: string })[] {
  const counts = new Map<WireName, number>();
  return passed.flatMap(({ wire, label }) => {
    const index = counts.get(wire) ?? 0;
    counts.set(wire, index + 1);
    return (['before', 'after'] as const).map((side) => ({ wire, index, side, label }));
  });
}
