/** A TCP proxy before a mail server that breaks a connection at a chosen command, refuses or delays it, and counts what it sees. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * `before`: the command never reaches the server. `after`: the server has executed it, its answer never
 * arrives. `hang`: the answer is held back and the connection stays open.
 */
export type Cut = 'before' | 'after' | 'hang';

/** Time for the server to execute the cut command after its answer has begun. */
const DRAIN_MS = 50;

export class CuttingProxy {
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  #cut: { readonly command: RegExp; readonly where: Cut } | null = null;
  /** Matches are removed from the server's answers. */
  hide: RegExp | null = null;
  /** A command that matches is answered with NO and does not reach the server. */
  refuse: RegExp | null = null;
  /** Client bytes after a matching command wait with it. */
  delay: { readonly command: RegExp; readonly ms: number } | null = null;
  /** Every IDLE ends as soon as the server has begun it. */
  endsIdleAtOnce = false;
  /** The server's end of connections on which a client idles (IDLE, RFC 2177). */
  readonly #idling = new Set<Socket>();
  /** Connections accepted so far. */
  connections = 0;
  /** Client bytes so far, as text. */
  transcript = '';

  constructor(server: Server, target: { readonly host: string; readonly port: number }) {
    this.#server = server;
    this.#target = target;
    server.on('connection', (client) => {
      this.#serve(client);
    });
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Connections that are open now. */
  get open(): number {
    return Math.ceil(this.#sockets.size / 2);
  }

  /** The next matching command is cut; after that everything passes again. */
  cutAt(command: RegExp, where: Cut): void {
    this.#cut = { command, where };
  }

  /** Ends every open connection, as a server does with idle ones. */
  dropAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The server ends every IDLE with its tagged answer, without a client's DONE. Returns their number. */
  endIdle(): number {
    const count = this.#idling.size;
    for (const upstream of this.#idling) upstream.write('DONE\r\n');
    this.#idling.clear();
    return count;
  }

  async close(): Promise<void> {
    this.dropAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(client: Socket): void {
    this.connections += 1;
    const upstream = connect(this.#target);
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.#idling.delete(upstream);
        client.destroy();
        upstream.destroy();
      });
    }
    let isHeld = false;
    client.on('data', (chunk: Buffer) => {
      const said = chunk.toString('latin1');
      this.transcript += said;
      if (this.refuse?.test(said)) {
        client.write(`${said.slice(0, said.indexOf(' '))} NO [NOPERM] Permission denied.\r\n`);
        return;
      }
      if (said.startsWith('DONE\r\n')) this.#idling.delete(upstream);
      if (/^\w+ IDLE\r\n/.test(said)) this.#idling.add(upstream);
      const cut = this.#cut;
      if (!cut?.command.test(said)) {
        this.#pass(client, upstream, said);
        return;
      }
      this.#cut = null;
      isHeld = true;
      if (cut.where === 'before') client.destroy();
      else upstream.write(chunk);
      if (cut.where === 'after') {
        upstream.once('data', () => setTimeout(() => client.destroy(), DRAIN_MS));
      }
    });
    upstream.on('data', (chunk: Buffer) => {
      const { hide } = this;
      if (isHeld) return;
      if (this.endsIdleAtOnce && chunk.toString('latin1').startsWith('+ ')) this.endIdle();
      client.write(
        hide === null ? chunk : Buffer.from(chunk.toString('latin1').replaceAll(hide, ''), 'latin1'),
      );
    });
  }

  #pass(client: Socket, upstream: Socket, said: string): void {
    const { delay } = this;
    if (!delay?.command.test(said)) {
      upstream.write(said, 'latin1');
      return;
    }
    client.pause();
    setTimeout(() => {
      upstream.write(said, 'latin1');
      client.resume();
    }, delay.ms);
  }
}

/** Listens on a free loopback port. */
export async function startCuttingProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<CuttingProxy> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return new CuttingProxy(server, target);
}
