/** A TCP proxy before a mail server that breaks one connection after a chosen number of the server's bytes. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** `cut`: the connection ends there. `bye`: the server says goodbye first, in the same packet. */
export type Ending = 'cut' | 'bye';

const GOODBYE = '* BYE Server shutting down.\r\n';

export class BreakingProxy {
  readonly #server: Server;
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #seen = 0;
  #break: { readonly after: number; readonly ending: Ending } | null = null;
  /** The number of the server's bytes at the end of each of its lines, since the last `watch` or `breakAfter`. */
  lineEnds: number[] = [];

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
    server.on('connection', (client) => {
      this.#serve(client);
    });
  }

  /** Listens on a free loopback port. */
  static async start(port: number): Promise<BreakingProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new BreakingProxy(server, port);
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Counts from here on, and breaks nothing. */
  watch(): void {
    this.#seen = 0;
    this.lineEnds = [];
    this.#break = null;
  }

  /** The connection that reaches this number of bytes from the server breaks there; later ones are whole. */
  breakAfter(bytes: number, ending: Ending): void {
    this.watch();
    this.#break = { after: bytes, ending };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(client: Socket): void {
    const upstream = connect(this.#port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        upstream.destroy();
        if (!client.writableEnded) client.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => upstream.write(chunk));
    upstream.on('data', (chunk: Buffer) => {
      this.#pass(chunk, client, upstream);
    });
  }

  #pass(chunk: Buffer, client: Socket, upstream: Socket): void {
    const broken = this.#break;
    const left = broken === null ? Infinity : broken.after - this.#seen;
    const passed = chunk.subarray(0, Math.min(chunk.length, left));
    for (const [index, byte] of passed.entries())
      if (byte === 0x0a) this.lineEnds.push(this.#seen + index + 1);
    this.#seen += passed.length;
    if (broken === null || chunk.length < left) {
      client.write(passed);
      return;
    }
    this.#break = null;
    upstream.destroy();
    client.end(broken.ending === 'bye' ? Buffer.concat([passed, Buffer.from(GOODBYE)]) : passed);
  }
}
