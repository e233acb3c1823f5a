/** The demo's SMTP server: takes mail of its one account, delivers what is for it, and lets nothing leave the machine. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { SMTPServer } from 'smtp-server';

export interface DemoSmtpOptions {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** Puts a message into the account's inbox. */
  readonly deliver: (raw: Buffer) => void;
}

export interface DemoSmtpServer {
  readonly port: number;
  stop(): Promise<void>;
}

const MAX_MESSAGE_BYTES = 25 * 1024 * 1024;

/** Starts it on loopback. Throws when the port is taken. Mail for other people is taken and dropped. */
export async function startDemoSmtpServer(options: DemoSmtpOptions): Promise<DemoSmtpServer> {
  const { user, password, deliver } = options;
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    size: MAX_MESSAGE_BYTES,
    disableReverseLookup: true,
    onAuth: (auth, _session, done) => {
      if (auth.username === user && auth.password === password) done(null, { user });
      else done(smtpError('The user name or password is wrong.', 535));
    },
    onData: (stream, session, done) => {
      const isForUs = session.envelope.rcptTo.some(
        ({ address }) => address.toLowerCase() === user.toLowerCase(),
      );
      bytesOf(stream)
        .then((raw) => {
          if (isForUs) deliver(raw);
        })
        .then(
          () => {
            done();
          },
          (error: unknown) => {
            done(error instanceof Error ? error : smtpError(String(error), 451));
          },
        );
    },
  });
  // A client that breaks off is none of the server's business.
  server.on('error', () => undefined);
  const listening = once(server.server, 'listening');
  server.listen(options.port, '127.0.0.1');
  await listening;
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
      }),
  };
}

const smtpError = (message: string, responseCode: number): Error =>
  Object.assign(new Error(message), { responseCode });

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    // The rest is read and thrown away, so that the client hears the answer.
    if (size <= MAX_MESSAGE_BYTES) chunks.push(chunk);
  }
  if (size > MAX_MESSAGE_BYTES) throw smtpError('The message is larger than 25 MiB.', 552);
  return Buffer.concat(chunks);
}
