/**
 * A mail server for one account with configurable behaviour (`imap-habits.ts`): the part of RFC 3501, MOVE,
 * UIDPLUS, CONDSTORE, IDLE and SPECIAL-USE that the gateway uses.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { HostSettings } from '../../../commands/ports/mail-port.ts';
import type { ImapHabits } from './imap-habits.ts';
import { ImapTestSession } from './imap-session.ts';
import { CommandReader } from './imap-words.ts';
import type { LabelledAccount } from './fake-gmail/labelled-account.ts';

export class ScriptedImapServer<Account extends LabelledAccount = LabelledAccount> {
  readonly account: Account;
  habits: ImapHabits;
  /** Whether a move or copy reports the place of messages that were already there. */
  tellsKnownPlaces = true;
  readonly loggedIn = new Set<ImapTestSession>();
  readonly heard: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, habits: ImapHabits, account: Account) {
    this.#server = server;
    this.habits = habits;
    this.account = account;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      this.#serve(socket);
    });
  }

  /** Listens on a free loopback port; every user name with `PASSWORD` opens the one account. */
  static async start<Account extends LabelledAccount>(
    habits: ImapHabits,
    account: Account,
  ): Promise<ScriptedImapServer<Account>> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ScriptedImapServer(server, habits, account);
  }

  imap(): HostSettings {
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return { host: '127.0.0.1', port, security: 'none' };
  }

  /** Ends every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    const session = new ImapTestSession(this, (text) => void socket.write(Buffer.from(text, 'latin1')));
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
    const { capabilities, greeting } = this.habits;
    socket.write(`* OK [CAPABILITY ${capabilities}] ${greeting}\r\n`);
  }
}
