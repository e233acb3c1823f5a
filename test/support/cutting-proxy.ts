/** A TCP proxy before a mail server that breaks a connection at a chosen command, and counts what it sees. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * `before`: the command never reaches the server. `after`: the server has done it, its answer never arrives. `hang`:
 * the answer is held back and the line stays open.
 */
export type Cut = 'before' | 'after' | 'hang';

/** How long the server gets to do what the cut command asks for, once its answer has begun. */
const DRAIN_MS = 50;

export class CuttingProxy {
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  #cut: { readonly command: RegExp; readonly where: Cut } | null = null;
  /** What matches is taken out of the server's answers. */
  hide: RegExp | null = null;
  /** Connections taken so far. */
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

  /** The next command that matches meets the cut; after that all goes through again. */
  cutAt(command: RegExp, where: Cut): void {
    this.#cut = { command, where };
  }

  /** Ends every open connection, as a server does with idle ones. */
  dropAll(): void {
    for (const socket of this.#sockets) socket.destroy();
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
        client.destroy();
        upstream.destroy();
      });
    }
    let isHeld = false;
    client.on('data', (chunk: Buffer) => {
      this.transcript += chunk.toString('latin1');
      const cut = this.#cut;
      if (!cut?.command.test(chunk.toString('latin1'))) {
        upstream.write(chunk);
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
      client.write(
        hide === null ? chunk : Buffer.from(chunk.toString('latin1').replaceAll(hide, ''), 'latin1'),
      );
    });
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
