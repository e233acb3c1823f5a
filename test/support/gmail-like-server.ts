/**
 * A mail server with Gmail's way of folders (X-GM-EXT-1) for one account: as much of RFC 3501, MOVE, UIDPLUS, CONDSTORE, IDLE
 * and SPECIAL-USE as the gateway asks for.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { HostSettings } from '../../commands/kernel/mail-port.ts';
import { CommandReader } from './imap-words.ts';
import { LabelledAccount } from './labelled-account.ts';
import { CAPABILITIES, LabelledSession } from './labelled-session.ts';

export class GmailLikeServer {
  readonly account = new LabelledAccount();
  /** Whether a move or copy tells where messages went that were there already. */
  tellsKnownPlaces = true;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      serve(this, socket);
    });
  }

  /** Listens on a free loopback port; every user name with `PASSWORD` is the one account. */
  static async start(): Promise<GmailLikeServer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new GmailLikeServer(server);
  }

  imap(): HostSettings {
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return { host: '127.0.0.1', port, security: 'none' };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function serve(server: GmailLikeServer, socket: Socket): void {
  const session = new LabelledSession(server, (text) => void socket.write(Buffer.from(text, 'latin1')));
  const reader = new CommandReader();
  socket.on('error', () => undefined);
  socket.setNoDelay(true);
  socket.on('close', () => {
    session.close();
  });
  socket.on('data', (chunk) => {
    socket.cork();
    for (const command of reader.take(chunk.toString('latin1'), () => socket.write('+ go on\r\n'))) {
      if (!session.handle(command)) socket.end();
    }
    socket.uncork();
  });
  socket.write(`* OK [CAPABILITY ${CAPABILITIES}] ready\r\n`);
}
