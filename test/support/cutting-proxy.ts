/** A TCP proxy that breaks or holds a connection when a client sends a certain command. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export type Fault =
  /** The command never reaches the server. */
  | 'cut-before'
  /** The server carries the command out, its answer never arrives. */
  | 'cut-after'
  /** As `cut-after`, but the client is left waiting instead of being cut off. */
  | 'hold-after';

export class CuttingProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #armed: { readonly word: RegExp; readonly fault: Fault; readonly met: () => void } | null = null;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** Listens on a free loopback port and passes everything on to `target`. */
  static async start(target: { host: string; port: number }): Promise<CuttingProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const proxy = new CuttingProxy(server, typeof address === 'object' && address ? address.port : 0);
    server.on('connection', (client: Socket) => {
      proxy.#serve(client, connect(target.port, target.host));
    });
    return proxy;
  }

  /** The next client data that matches meets the fault; resolves when it did. */
  arm(word: RegExp, fault: Fault): Promise<void> {
    return new Promise((resolve) => {
      this.#armed = { word, fault, met: resolve };
    });
  }

  async stop(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #serve(client: Socket, server: Socket): void {
    let mute = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        if (!mute) for (const other of [client, server]) other.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => {
      const armed = this.#armed;
      if (!armed?.word.test(chunk.toString('latin1'))) {
        server.write(chunk);
        return;
      }
      this.#armed = null;
      mute = armed.fault === 'hold-after';
      if (armed.fault === 'cut-before') {
        client.destroy();
        server.destroy();
        armed.met();
        return;
      }
      server.removeAllListeners('data');
      // The first answer means that the server has carried the command out.
      server.once('data', () => {
        if (!mute) client.destroy();
        server.destroy();
        armed.met();
      });
      server.write(chunk);
    });
    server.on('data', (chunk: Buffer) => {
      client.write(chunk);
    });
  }
}
