/** A submission server that accepts every message and delivers its own users' mail to Dovecot, once each. */
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { createTransport } from 'nodemailer';
import { SMTPServer } from 'smtp-server';
import { PASSWORD, type TestDovecot } from './dovecot.ts';

export interface Relayed {
  readonly from: string;
  readonly to: readonly string[];
  readonly messageId: string;
  readonly raw: Buffer;
}

const DOMAIN = 'example.com';

export class MailRelay {
  readonly #dovecot: TestDovecot;
  readonly #server: SMTPServer;
  #turn: Promise<void> = Promise.resolve();
  port = 0;
  /** Every message whose final dot was answered with 250, in that order. */
  readonly accepted: Relayed[] = [];
  /** The answer to a message that is refused permanently; null = it is accepted. */
  refusal: (raw: Buffer) => string | null = () => null;

  private constructor(dovecot: TestDovecot) {
    this.#dovecot = dovecot;
    this.#server = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      disableReverseLookup: true,
      onAuth: ({ username, password }, _session, done) => {
        if (password === PASSWORD) done(null, { user: username });
        else done(Object.assign(new Error('The password is wrong.'), { responseCode: 535 }));
      },
      onData: (stream, { envelope }, done) => {
        buffer(stream).then(
          (raw) => {
            const refused = this.refusal(raw);
            if (refused !== null) {
              done(Object.assign(new Error(refused), { responseCode: 554 }));
              return;
            }
            const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
            this.#take({ from, to: envelope.rcptTo.map(({ address }) => address), raw });
            done();
          },
          // The client disconnected in the middle: nothing was accepted.
          () => undefined,
        );
      },
    });
    this.#server.on('error', () => undefined);
  }

  /** Listens on a free loopback port. */
  static async start(dovecot: TestDovecot): Promise<MailRelay> {
    const relay = new MailRelay(dovecot);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server.server, 'listening');
    const address = relay.#server.server.address();
    relay.port = typeof address === 'object' && address !== null ? address.port : 0;
    return relay;
  }

  /** A message from outside. */
  bring(user: string, raw: string): void {
    this.#take({ from: 'bob@example.org', to: [`${user}@${DOMAIN}`], raw: Buffer.from(raw) });
  }

  /** Delivers nothing while `work` runs, so that Dovecot can be stopped without a delivery in progress. */
  async pausedFor(work: () => Promise<void>): Promise<void> {
    await this.#inTurn(work);
  }

  /** Resolves when all accepted messages are delivered. Throws when Dovecot refused one. */
  async delivered(): Promise<void> {
    await this.#turn;
  }

  /** Accepts no more connections. */
  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(resolve);
    });
  }

  #take(message: Omit<Relayed, 'messageId'>): void {
    const head = message.raw.toString('latin1').split('\r\n\r\n', 1)[0] ?? '';
    const messageId = /^message-id:\s*(<[^>]*>)/im.exec(head)?.[1] ?? '';
    this.accepted.push({ ...message, messageId });
    for (const address of message.to) {
      const [user = '', domain] = address.split('@');
      // `delivered` reports a failure.
      if (domain === DOMAIN) this.#inTurn(() => this.#deliver(user, message.raw)).catch(() => undefined);
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work);
    return this.#turn;
  }

  async #deliver(user: string, raw: Buffer): Promise<void> {
    const { lmtp: port } = this.#dovecot.ports;
    const transport = createTransport({ host: '127.0.0.1', port, lmtp: true, ignoreTLS: true });
    try {
      await transport.sendMail({ envelope: { from: '', to: [user] }, raw });
    } finally {
      transport.close();
    }
  }
}
